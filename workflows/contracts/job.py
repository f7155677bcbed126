"""Jobs: detached commands that outlive the turn which started them."""

from enum import StrEnum

from workflows.contracts.base import Contract


class JobState(StrEnum):
    """Where a job stands; read from the engine, never from a file."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class JobStart(Contract):
    """Watch one detached execution until it ends."""

    conversation: str
    job: str
    execution: str
    host: str


class JobRecord(Contract):
    """A job as its conversation remembers it."""

    job: str
    execution: str
    state: JobState = JobState.RUNNING
    delivered: bool = False


class JobStarted(Contract):
    """A turn tells its conversation about a job it left behind."""

    conversation: str
    record: JobRecord


class JobOutcome(Contract):
    """A job's end, told to its conversation."""

    conversation: str
    job: str
    state: JobState
