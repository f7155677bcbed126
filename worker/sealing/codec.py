"""The codec of every client and worker: seals on the way out, opens or refuses on the way in.

Refusing never raises here.  An exception while a workflow task is decoded would
make it retry for ever, so a refused payload becomes a stand-in, which raises
only where somebody uses it (:mod:`worker.payloads`, :mod:`worker.sealing.gate`).
"""

from collections.abc import Sequence

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from activities.errors import UnsealedPayload
from worker.sealing.seal import Refusal, Seal, is_refused, refused

NO_WORKFLOW = ""
"""What a payload is bound to that belongs to no workflow; ours all belong to one."""


class SealingCodec(PayloadCodec, WithSerializationContext):
    """Seals for, and opens for, the workflow of its context.

    Without a context, which the SDK leaves out nowhere that we use, a payload is
    sealed for no workflow, and opens for none.
    """

    def __init__(self, seal: Seal, workflow: str = NO_WORKFLOW) -> None:
        self._seal = seal
        self._workflow = workflow

    def with_context(self, context: SerializationContext) -> "SealingCodec":
        """Return the codec for the workflow that *context* names."""
        return SealingCodec(self._seal, workflow_of(context))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Seal each payload."""
        return [self._seal.close(payload, self._workflow) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Open each payload, or put a stand-in in its place."""
        return [self._opened(payload) for payload in payloads]

    def _opened(self, payload: Payload) -> Payload:
        if is_refused(payload):
            return payload
        try:
            return self._seal.open(payload, self._workflow)
        except UnsealedPayload as error:
            return refused(Refusal(str(error)))


def workflow_of(context: SerializationContext) -> str:
    """Return the id of the workflow that *context* names, or that there is none."""
    if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
        return context.workflow_id or NO_WORKFLOW
    return NO_WORKFLOW
