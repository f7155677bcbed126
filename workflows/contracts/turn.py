"""One turn: how it starts, what it carries over, how it ends."""

from enum import StrEnum

from workflows.contracts.base import Contract
from workflows.contracts.failure import FailureKind
from workflows.contracts.key import TurnKey
from workflows.contracts.permission import PermissionMode


class TurnOutcome(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TurnProgress(Contract):
    """What a long turn carries over when it continues as new."""

    requests: int = 0
    calls: int = 0
    steering: tuple[str, ...] = ()
    deliveries: tuple[str, ...] = ()
    consumed: tuple[str, ...] = ()
    delivered: tuple[str, ...] = ()


class TurnStart(Contract):
    """Everything a turn needs; its text waits in the store under the message id."""

    key: TurnKey
    message: str
    host: str
    model: str
    effort: str | None = None
    mode: PermissionMode
    answerable: bool = True
    deliveries: tuple[str, ...] = ()
    progress: TurnProgress = TurnProgress()


class Steering(Contract):
    """A message for the running turn, delivered at its next safe boundary."""

    key: TurnKey
    message: str


class JobNotice(Contract):
    """A finished job for the running turn to tell the model about."""

    key: TurnKey
    job: str


class TurnClosing(Contract):
    """Write down how a turn ended."""

    key: TurnKey
    outcome: TurnOutcome
    failure: FailureKind | None = None
    steering: tuple[str, ...] = ()
    """Messages that may have reached the store before the turn ended."""
    deliveries: tuple[str, ...] = ()
    """Finished jobs of which the same is true."""


class TurnClosed(Contract):
    """What of the closing's uncertain input did reach the history."""

    consumed: tuple[str, ...] = ()
    delivered: tuple[str, ...] = ()


class TurnReport(Contract):
    """What the conversation learns of a finished turn."""

    key: TurnKey
    outcome: TurnOutcome
    failure: FailureKind | None = None
    requests: int = 0
    calls: int = 0
    consumed: tuple[str, ...] = ()
    """Steering that reached the model, by message id."""
    delivered: tuple[str, ...] = ()
    """Jobs the model was told about."""
