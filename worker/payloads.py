"""How values become payloads: contracts as short JSON, sealed, the large ones outside history.

The one data converter of every client, worker and replay.  Values are converted,
sealed (:mod:`worker.sealing`), and kept as an object if they are still large.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from google.protobuf.json_format import Parse, ParseError
from pydantic import ValidationError
from pydantic_core import SchemaSerializer
from pydantic_core.core_schema import any_schema
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1.external_storage_pb2 import ExternalStorageReference
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    ExternalStorage,
    JSONPlainPayloadConverter,
    SerializationContext,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from activities.errors import CorruptObjectError, MalformedPayload
from activities.failures import as_failure
from activities.store.objects import ObjectDirectory
from worker.sealing.codec import SealingCodec, workflow_of
from worker.sealing.failures import SealedFailureConverter
from worker.sealing.keys import KeyRing
from worker.sealing.seal import (
    ENCODING,
    METADATA,
    SEALED,
    Refusal,
    Seal,
    is_refused,
    refusal_of,
    refused,
)

KEPT_OUTSIDE: Final = 32 * 1024
"""Each payload stays under the external-storage threshold (32 KiB)."""
DRIVER: Final = "autolith-objects"
"""Histories name the driver, so it is never renamed."""
OBJECT: Final = "object"
KEPT_CONVERTERS: Final = 256
"""A worker has about as many workflows at work at a time."""
_NAME = re.compile(r"[0-9a-f]{64}")
_REFERENCE: Final = ExternalStorageReference.DESCRIPTOR.full_name.encode()


def data_converter(ring: KeyRing, objects: Path) -> DataConverter:
    """Return the converter that seals with *ring* and keeps large payloads in *objects*."""
    return SealedDataConverter(
        payload_converter_class=ContractPayloadConverter,
        failure_converter_class=SealedFailureConverter,
        payload_codec=SealingCodec(Seal(ring)),
        external_storage=ExternalStorage(
            drivers=[ObjectDriver(ObjectDirectory(objects))],
            payload_size_threshold=KEPT_OUTSIDE,
        ),
    )


@dataclass(frozen=True)
class SealedDataConverter(DataConverter):
    """Refuses, before the SDK follows it, whatever has not the shape of ours.

    The SDK resolves references to external storage first and raises for one that it
    does not know, which anybody may send.

    The SDK also wants a converter for a context several times in every activity, and
    making one is slow.  What we make depends on nothing but the workflow's id, so the
    newest ones are kept.
    """

    _bound: OrderedDict[str, Any] = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    def with_context(self, context: SerializationContext) -> Self:
        """Return the converter for the workflow that *context* names."""
        workflow = workflow_of(context)
        if workflow not in self._bound:
            self._bound[workflow] = super().with_context(context)
            if len(self._bound) > KEPT_CONVERTERS:
                self._bound.popitem(last=False)
        bound: Self = self._bound[workflow]
        return bound

    def _with_store_context(self, store_ctx: StorageDriverStoreContext) -> DataConverter:
        # Objects are named by their content: it does not matter for whom they are kept.
        del store_ctx
        return self

    async def _decode_reference_payload_sequence(
        self, payloads: Sequence[Payload]
    ) -> list[Payload]:
        # The SDK's own first step, in its place: references are never encoded here.
        return [payload if is_ours(payload) else refused(Refusal.UNSEALED) for payload in payloads]


def is_ours(payload: Payload) -> bool:
    """Tell whether *payload* looks like a sealed one, or like a reference to a kept one."""
    if payload.metadata.get(ENCODING) == SEALED:
        return set(payload.metadata) == METADATA
    return kept_name(payload) is not None


def kept_name(payload: Payload) -> str | None:
    """Return the object that *payload* refers to, or None if it is no reference of ours."""
    if payload.metadata != {ENCODING: b"json/protobuf", "messageType": _REFERENCE}:
        return None
    try:
        reference = Parse(payload.data, ExternalStorageReference())
    except (ParseError, UnicodeDecodeError):
        return None
    name = reference.claim_data.get(OBJECT, "")
    return name if reference.driver_name == DRIVER and _NAME.fullmatch(name) else None


class ObjectDriver(StorageDriver):
    """Keeps sealed payloads in the object directory, named by their content."""

    def __init__(self, objects: ObjectDirectory) -> None:
        self._objects = objects

    def name(self) -> str:
        """Return the name that histories use."""
        return DRIVER

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Keep each payload and return what finds it again."""
        del context
        return [await asyncio.to_thread(self._keep, payload) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Return each payload, refused where there is none of that name."""
        del context
        return [await asyncio.to_thread(self._find, claim) for claim in claims]

    def _keep(self, payload: Payload) -> StorageDriverClaim:
        return StorageDriverClaim({OBJECT: self._objects.put(payload.SerializeToString())})

    def _find(self, claim: StorageDriverClaim) -> Payload:
        return find_kept(self._objects, claim.claim_data[OBJECT])


def find_kept(objects: ObjectDirectory, name: str) -> Payload:
    """Return the payload kept as *name*; one that is gone or damaged is refused.

    Any other trouble with the file is raised: it may pass, and a payload that was
    refused once and opened later would make the history contradict itself.
    """
    try:
        return Payload.FromString(objects.get(name))
    except CorruptObjectError as error:
        if isinstance(error.__cause__, OSError) and not isinstance(
            error.__cause__, FileNotFoundError
        ):
            raise
        return refused(Refusal.MISSING)


class _ContractJSON(PydanticJSONPlainPayloadConverter):
    """JSON without defaults.

    That keeps histories short.  It is safe only while a default never changes: an
    old history would then read as something it never said.  A contract may gain
    fields with new defaults, and what tells contracts apart (``command``, ``kind``)
    has no default, so it is always written.
    """

    def __init__(self) -> None:
        super().__init__()
        self._serializer = SchemaSerializer(any_schema())

    def to_payload(self, value: Any) -> Payload | None:
        """Return *value* as JSON."""
        content = self._serializer.to_json(value, exclude_defaults=True)
        return Payload(metadata={ENCODING: self.encoding.encode()}, data=content)


# Made once: the SDK makes a converter for every context, several times an activity.
_ENCODINGS: Final = tuple(
    _ContractJSON() if isinstance(converter, JSONPlainPayloadConverter) else converter
    for converter in DefaultPayloadConverter.default_encoding_payload_converters
)


class ContractPayloadConverter(CompositePayloadConverter):
    """Converts contracts, and raises what ends a turn, not a worker, for bad payloads."""

    def __init__(self) -> None:
        super().__init__(*_ENCODINGS)

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        """Return the values of *payloads*.

        Raises:
            ApplicationError: one is refused, or is not what *type_hints* says; it
                fails a workflow for good instead of repeating its workflow task.
        """
        for payload in payloads:
            if is_refused(payload):
                raise as_failure(refusal_of(payload))
        try:
            return super().from_payloads(payloads, type_hints)
        except ValidationError as error:
            # Without pydantic's own text: it quotes the value.
            raise as_failure(
                MalformedPayload(
                    f"A payload is not a {error.title}, in {error.error_count()} places"
                )
            ) from None
