"""One numbered provider request, as the workflow sees it: no text, ever."""

from datetime import timedelta

from workflows.contracts.base import Contract
from workflows.contracts.failure import FailureKind
from workflows.contracts.key import RequestKey
from workflows.contracts.permission import PermissionMode, Verdict
from workflows.contracts.tool import Concurrency, EffectClass


class RequestFailure(Contract):
    """One failed attempt, in facts.  The provider's words are in the store."""

    kind: FailureKind
    retryable: bool = False
    output_started: bool = False
    retry_after: timedelta | None = None
    """The delay that the provider named."""


class FailureTally(Contract):
    """Failed attempts of one request so far, by the phase they failed in."""

    before_output: int = 0
    after_output: int = 0

    def plus(self, failure: RequestFailure) -> "FailureTally":
        """Return the tally with *failure* counted."""
        if failure.output_started:
            return self.model_copy(update={"after_output": self.after_output + 1})
        return self.model_copy(update={"before_output": self.before_output + 1})

    def minus(self, failure: RequestFailure) -> "FailureTally":
        """Return the tally as it was before *failure* was counted."""
        if failure.output_started:
            return self.model_copy(update={"after_output": self.after_output - 1})
        return self.model_copy(update={"before_output": self.before_output - 1})

    @property
    def attempt(self) -> int:
        """Number the attempt that comes next."""
        return self.before_output + self.after_output + 1


class RequestOrder(Contract):
    """Send one attempt of one numbered request; everything else is in the store."""

    key: RequestKey
    failures: FailureTally = FailureTally()
    lost: RequestFailure | None = None
    """The attempt before this one, when a lost worker could not record it."""
    opening: str | None = None
    """The message that opens the turn."""
    steering: tuple[str, ...] = ()
    """Messages to deliver at this boundary, in order."""
    deliveries: tuple[str, ...] = ()
    """Finished jobs to tell the model about."""
    model: str
    effort: str | None = None
    mode: PermissionMode
    answerable: bool = True
    """Whether somebody can answer a question."""


class AcceptedCall(Contract):
    """A call of the reply, judged and ready to be ordered into waves."""

    ordinal: int
    tool: str
    effect: EffectClass
    concurrency: Concurrency = Concurrency.CONCURRENT
    verdict: Verdict


class RequestReply(Contract):
    """The outcome of one attempt."""

    key: RequestKey
    calls: tuple[AcceptedCall, ...] = ()
    failure: RequestFailure | None = None
