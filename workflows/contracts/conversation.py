"""A conversation: its start, its state, what may be asked of it, what it answers.

Each request to a conversation names the conversation and carries an id of its
own, so that a payload which is sent twice, or to another conversation, does
nothing.  ``command`` tells requests apart that would otherwise look alike.
"""

from enum import StrEnum
from typing import Literal

from workflows.contracts.base import Contract
from workflows.contracts.job import JobRecord
from workflows.contracts.permission import Answer, PermissionMode, PermissionRequest
from workflows.contracts.turn import TurnOutcome


class ConversationSignal(StrEnum):
    """What turns and jobs tell their conversation, by handler name."""

    ASK = "ask"
    JOB_STARTED = "job_started"
    JOB_FINISHED = "job_finished"


class Delivery(StrEnum):
    """What a message wants while a turn runs."""

    STEER = "steer"
    QUEUE = "queue"


class Disposition(StrEnum):
    """What became of a message that was submitted."""

    STARTED = "started"
    STEERING = "steering"
    QUEUED = "queued"


class Submission(Contract):
    """One message of the owner.  Its text is in the store; its id makes it exactly-once."""

    command: Literal["submit"]
    conversation: str
    message: str
    delivery: Delivery = Delivery.QUEUE
    answerable: bool = True
    """False for a client that cannot answer questions (``autolith run``)."""
    turns: int = 0
    """The newest turn that the store knows: a conversation which was started again from
    an older state must not give a turn's number away a second time."""


class Receipt(Contract):
    """The acknowledgement of a message: it is durable and where it went."""

    message: str
    disposition: Disposition
    turn: int | None = None
    """The turn that the message started or steers."""
    position: int = 0
    """Its place in the queue, from 1; 0 when it does not wait there."""


class Cancellation(Contract):
    """Cancel the running turn, or one job."""

    command: Literal["cancel"]
    conversation: str
    id: str
    turn: int | None = None
    """Only this turn; None for whichever runs."""
    job: str | None = None
    hold_queue: bool = False
    """Keep queued input back until somebody submits again (Ctrl-C)."""


class CancellationReceipt(Contract):
    """What a cancellation found."""

    turn: int | None = None
    job: str | None = None


class Decision(Contract):
    """The owner's answer to an open question."""

    command: Literal["decide"]
    conversation: str
    request: str
    """The question's id: ``turn.request.ordinal``."""
    answer: Answer


class DecisionReceipt(Contract):
    """Whether the answer found its question still open."""

    request: str
    accepted: bool


class Reconfiguration(Contract):
    """Change what later turns use; None keeps a value."""

    command: Literal["configure"]
    conversation: str
    id: str
    model: str | None = None
    effort: str | None = None
    mode: PermissionMode | None = None


class StatusQuery(Contract):
    """Ask where a conversation stands.  Sealed like every argument."""

    command: Literal["status"]
    conversation: str


class QueuedMessage(Contract):
    """A message that waits for a turn of its own."""

    message: str
    answerable: bool = True


class ConversationState(Contract):
    """What a conversation carries from run to run: ids and counters, no text."""

    turns: int = 0
    queue: tuple[QueuedMessage, ...] = ()
    held: bool = False
    taken: tuple[Receipt, ...] = ()
    """The newest receipts, so that a repeated message gets the same answer."""
    jobs: tuple[JobRecord, ...] = ()
    last_outcome: TurnOutcome | None = None


class ConversationStart(Contract):
    """Start, or continue, one conversation."""

    conversation: str
    host: str
    model: str
    effort: str | None = None
    mode: PermissionMode = PermissionMode.ASK
    workspace_digest: str = ""
    """Keyed digest of the workspace path, for the search attribute."""
    state: ConversationState = ConversationState()


class ConversationStatus(Contract):
    """Where a conversation stands, read from the engine."""

    conversation: str
    model: str
    effort: str | None = None
    mode: PermissionMode
    host: str
    turns: int
    running: int | None = None
    """The turn that runs now."""
    queue: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    held: bool = False
    pending: tuple[PermissionRequest, ...] = ()
    jobs: tuple[JobRecord, ...] = ()
    last_outcome: TurnOutcome | None = None
