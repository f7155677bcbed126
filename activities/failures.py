"""The one translation between our errors and Temporal failures."""

from temporalio.exceptions import ApplicationError

from activities.errors import AutolithError
from workflows.contracts.failure import FailureKind
from workflows.contracts.provider import RequestFailure

WORKER_LOST = FailureKind.WORKER_LOST.value
"""The type of the failure that a new worker reports for its predecessor's attempts."""


def as_failure(error: AutolithError) -> ApplicationError:
    """Return *error* as a Temporal failure.  The workflow decides about repeating."""
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


def lost_attempt(*, output_started: bool) -> ApplicationError:
    """Return the failure of an attempt whose worker died."""
    return ApplicationError(
        "the worker was lost",
        RequestFailure(
            kind=FailureKind.WORKER_LOST, retryable=True, output_started=output_started
        ),
        type=WORKER_LOST,
        non_retryable=True,
    )
