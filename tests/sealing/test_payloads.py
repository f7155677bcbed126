"""The data converter: short JSON that reads back as it was, and bad payloads that end calmly."""

from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError

from worker.payloads import DRIVER, KEPT_OUTSIDE, data_converter, is_ours
from worker.sealing.keys import KeyRing
from workflows.contracts import conversation
from workflows.contracts.base import Contract

RING = KeyRing.of(b"k" * 32)


class Shade(StrEnum):
    """A closed set."""

    DARK = "dark"
    LIGHT = "light"


class Circle(Contract):
    """One kind."""

    kind: Literal["circle"]
    radius: float = 1.0


class Square(Contract):
    """Another kind."""

    kind: Literal["square"]
    side: float = 1.0


class Drawing(Contract):
    """Everything that a contract may hold."""

    shapes: tuple[Annotated[Circle | Square, Field(discriminator="kind")], ...] = ()
    shade: Shade = Shade.DARK
    wait: timedelta | None = None
    inner: Circle = Circle(kind="circle")
    title: str | None = "untitled"
    tags: dict[str, int] = Field(default_factory=dict)


@pytest.fixture
def converter(tmp_path: Path) -> DataConverter:
    """Return a converter for one workflow."""
    whole = data_converter(RING, tmp_path / "objects")
    return whole.with_context(WorkflowSerializationContext("default", "w"))


DRAWINGS = [
    Drawing(),
    Drawing(shapes=(Square(kind="square"), Circle(kind="circle", radius=2.5))),
    Drawing(shade=Shade.LIGHT, wait=timedelta(milliseconds=1500), title=None),
    Drawing(inner=Circle(kind="circle", radius=0), tags={"a": 0}, title=""),
]


@pytest.mark.parametrize("drawing", DRAWINGS)
async def test_contracts_read_back_equal(converter: DataConverter, drawing: Drawing) -> None:
    """Nested, in unions, and where a value is None but its default is not."""
    assert await converter.decode(await converter.encode([drawing]), [Drawing]) == [drawing]


@pytest.mark.parametrize("value", [None, b"\x00bytes", "text", 7, [1, 2], {"a": None}])
async def test_other_values_read_back_equal(converter: DataConverter, value: object) -> None:
    """Whatever the SDK itself sends."""
    assert await converter.decode(await converter.encode([value])) == [value]


def test_defaults_are_not_written(converter: DataConverter) -> None:
    """Also those of nested contracts; what tells them apart is."""
    drawing = Drawing(shapes=(Square(kind="square", side=1.0),))

    payload = converter.payload_converter.to_payload(drawing)

    assert payload.data == b'{"shapes":[{"kind":"square"}]}'


def test_what_tells_requests_apart_is_always_written() -> None:
    """A ``command`` with a default would not be, and one request could pass for another."""
    requests = [
        contract
        for contract in vars(conversation).values()
        if isinstance(contract, type)
        and issubclass(contract, Contract)
        and "command" in contract.model_fields
    ]

    assert requests
    assert all(request.model_fields["command"].is_required() for request in requests)


async def test_a_payload_opens_in_its_own_workflow_only(tmp_path: Path) -> None:
    """As the workflow's or as its activity's, and with no context for nobody."""
    whole = data_converter(RING, tmp_path)
    (payload,) = await whole.with_context(WorkflowSerializationContext("default", "a")).encode(
        ["hello"]
    )

    assert await whole.with_context(activity_of("a")).decode([payload]) == ["hello"]
    for context in (WorkflowSerializationContext("default", "b"), activity_of("b")):
        with pytest.raises(ApplicationError, match="another workflow"):
            await whole.with_context(context).decode([payload])
    with pytest.raises(ApplicationError, match="another workflow"):
        await whole.with_context(activity_of(None)).decode([payload])
    with pytest.raises(ApplicationError, match="another workflow"):
        await whole.decode([payload])


async def test_a_large_payload_is_kept_as_an_object(
    converter: DataConverter, tmp_path: Path
) -> None:
    """What travels is a reference under the name that histories keep."""
    large = bytes(range(256)) * (KEPT_OUTSIDE // 64)

    small = await converter.encode([b"x" * (KEPT_OUTSIDE * 4)])
    (payload,) = await converter.encode([random_like(large)])

    assert small[0].metadata["encoding"] == b"autolith/sealed"  # it compresses well
    assert payload.ByteSize() < 400
    assert DRIVER.encode() in payload.data
    assert await converter.decode([payload]) == [random_like(large)]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "objects").rglob("*/*"))


async def test_a_lost_object_is_a_refused_payload(
    converter: DataConverter, tmp_path: Path
) -> None:
    """It raises where it is used, and decoding goes on."""
    (payload,) = await converter.encode([random_like(bytes(KEPT_OUTSIDE * 2))])
    for path in (tmp_path / "objects").rglob("*/*"):
        path.unlink()

    with pytest.raises(ApplicationError, match="not in the object directory"):
        await converter.decode([payload])


async def test_a_damaged_object_is_a_refused_payload(
    converter: DataConverter, tmp_path: Path
) -> None:
    """Changed bytes are noticed by their name."""
    (payload,) = await converter.encode([random_like(bytes(KEPT_OUTSIDE * 2))])
    for path in (tmp_path / "objects").rglob("*/*"):
        path.write_bytes(b"changed")

    with pytest.raises(ApplicationError, match="not in the object directory"):
        await converter.decode([payload])


async def test_a_sealed_value_of_another_kind_is_one_line(converter: DataConverter) -> None:
    """Which does not quote the value, and fails a workflow for good."""
    sealed = await converter.encode([Square(kind="square", side=4.25)])

    with pytest.raises(ApplicationError) as refusal:
        await converter.decode(sealed, [Circle])

    assert refusal.value.type == "MalformedPayload"
    assert refusal.value.non_retryable
    assert "4.25" not in refusal.value.message
    assert "square" not in refusal.value.message


@pytest.mark.parametrize("error", [ValueError("secret"), ApplicationError("secret", type="kind")])
async def test_a_failure_shows_its_type_and_nothing_else(
    converter: DataConverter, error: Exception
) -> None:
    """Message, stack trace and cause are sealed, and come back."""
    failure = Failure()

    await converter.encode_failure(raised(error), failure)

    assert b"secret" not in failure.SerializeToString()
    assert b"test_payloads" not in failure.SerializeToString()
    back = await converter.decode_failure(failure)
    assert isinstance(back, ApplicationError)
    assert back.message == "secret"
    assert isinstance(back.__cause__, ApplicationError)
    assert back.__cause__.message == "secret cause"


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"encoding": b"json/plain"},
        {"encoding": b"autolith/refused"},
        {"encoding": b"autolith/sealed"},
        {"encoding": b"json/external-storage-reference"},
        {"encoding": b"json/protobuf", "messageType": b"temporal.api.common.v1.Payload"},
    ],
)
def test_what_has_not_the_shape_of_ours_is_not_ours(metadata: dict[str, bytes]) -> None:
    """Nothing but sealed payloads and well-formed references of ours gets any further."""
    assert not is_ours(Payload(metadata=metadata, data=b"{}"))


def activity_of(workflow: str | None) -> ActivitySerializationContext:
    """Return the context of an activity of *workflow*."""
    return ActivitySerializationContext(
        namespace="default",
        activity_id="1",
        activity_type="a",
        activity_task_queue="q",
        workflow_id=workflow,
        workflow_type="W",
        is_local=False,
    )


def random_like(content: bytes) -> bytes:
    """Return bytes of the same length that do not compress."""
    return RING.ciphers[RING.current].encrypt(bytes(12), content, None)[: len(content)]


def raised(error: Exception) -> Exception:
    """Return *error* with a traceback and a cause."""
    try:
        raise error from RuntimeError("secret cause")  # noqa: TRY301 -- the traceback matters
    except Exception as caught:  # noqa: BLE001 -- to be looked at
        return caught
