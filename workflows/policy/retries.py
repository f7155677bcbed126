"""When a failed attempt is repeated, and after how long.

Spec, Providers: "A request that fails before the model has produced anything is
retried up to six times with jittered delays, since the failed attempt cost only
the wait. Once reasoning or output has started streaming, every reconnect bills a
fresh generation of the same prompt, so at most two such retries are made before
the request fails with a stream-abandoned error."

The jitter is a hash of the request's key, so that the workflow which waits and
the activity which announces the wait compute the same delay.
"""

import hashlib
from datetime import timedelta

from workflows.contracts.base import Contract
from workflows.contracts.failure import FailureKind
from workflows.contracts.key import RequestKey
from workflows.contracts.provider import FailureTally, RequestFailure

RETRIES_BEFORE_OUTPUT = 6
"""Up to six times while nothing has been produced."""
RETRIES_AFTER_OUTPUT = 2
"""At most two once reasoning or output has started."""
FIRST_DELAY = timedelta(seconds=1)
LONGEST_DELAY = timedelta(seconds=30)
LONGEST_WAIT = timedelta(minutes=2)
"""A provider's Retry-After up to this long is waited for; a longer one ends the turn."""


class Retry(Contract):
    """The decision about one failed attempt."""

    delay: timedelta | None = None
    """How long to wait before the next attempt; None ends the request."""
    kind: FailureKind
    """Why the request ends, or why it is repeated."""


def decide(key: RequestKey, earlier: FailureTally, failure: RequestFailure) -> Retry:
    """Decide what follows *failure* of the attempt after *earlier* ones."""
    tally = earlier.plus(failure)
    if failure.kind is FailureKind.RATE_LIMITED and not _worth_waiting(failure):
        return Retry(kind=failure.kind)
    if not failure.retryable and failure.kind is not FailureKind.RATE_LIMITED:
        return Retry(kind=failure.kind)
    if failure.output_started and tally.after_output > RETRIES_AFTER_OUTPUT:
        return Retry(kind=FailureKind.STREAM_ABANDONED)
    if not failure.output_started and tally.before_output > RETRIES_BEFORE_OUTPUT:
        return Retry(kind=failure.kind)
    return Retry(kind=failure.kind, delay=_delay(key, tally, failure))


def _worth_waiting(failure: RequestFailure) -> bool:
    return failure.retry_after is not None and failure.retry_after <= LONGEST_WAIT


def _delay(key: RequestKey, tally: FailureTally, failure: RequestFailure) -> timedelta:
    """Return the wait; a lost worker costs none, since the provider did nothing wrong."""
    if failure.kind is FailureKind.WORKER_LOST:
        return timedelta()
    doublings = tally.before_output + tally.after_output - 1
    doubled = FIRST_DELAY * (1 << doublings)
    ordinary = min(doubled, LONGEST_DELAY)
    jitter = ordinary * 0.5 * _fraction(key, tally)
    if failure.retry_after and failure.retry_after <= LONGEST_WAIT:
        # Jitter only adds to what the provider asked for (field case A-08).
        return failure.retry_after + min(jitter, timedelta(seconds=1))
    return ordinary * 0.5 + jitter


def _fraction(key: RequestKey, tally: FailureTally) -> float:
    name = f"{key.conversation}/{key.turn}/{key.request}/{tally.attempt}"
    return hashlib.sha256(name.encode()).digest()[0] / 255
