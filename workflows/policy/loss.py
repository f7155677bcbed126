"""Tell an attempt that was lost from one that failed."""

from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as AttemptTimedOut

from workflows.contracts.failure import FailureKind
from workflows.contracts.provider import RequestFailure


def lost(error: ActivityError) -> RequestFailure | None:
    """Return what is known of a lost attempt; None when the activity itself failed.

    A new worker reports its dead predecessor's attempts with their output state; a
    timeout (a lost machine, a dropped completion) says nothing, so output is assumed.
    """
    cause = error.cause
    if isinstance(cause, AttemptTimedOut):
        return RequestFailure(kind=FailureKind.WORKER_LOST, retryable=True, output_started=True)
    if isinstance(cause, ApplicationError) and cause.type == FailureKind.WORKER_LOST:
        started = bool(cause.details) and _output_started(cause.details[0])
        return RequestFailure(kind=FailureKind.WORKER_LOST, retryable=True, output_started=started)
    return None


def _output_started(detail: object) -> bool:
    # Failure details carry no type, so they decode to plain JSON.
    return isinstance(detail, dict) and bool(detail.get("output_started"))
