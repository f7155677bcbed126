"""Retries: six before output, two after, and a provider's wish is respected."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.failure import FailureKind
from workflows.contracts.key import RequestKey
from workflows.contracts.provider import FailureTally, RequestFailure
from workflows.policy.retries import LONGEST_WAIT, decide

KEY = RequestKey(conversation="c", turn=1, request=1)
TRANSIENT = (
    FailureKind.TRANSPORT,
    FailureKind.STREAM_INTERRUPTED,
    FailureKind.OVERLOADED,
    FailureKind.INCOMPLETE,
    FailureKind.WORKER_LOST,
)


def _attempts(failure: RequestFailure) -> tuple[int, FailureKind]:
    """Fail in the same way until the policy gives up; return attempts and the last kind."""
    tally = FailureTally()
    for attempt in range(1, 50):
        retry = decide(KEY, tally, failure)
        if retry.delay is None:
            return attempt, retry.kind
        tally = tally.plus(failure)
    raise AssertionError("the policy never gives up")


@pytest.mark.parametrize("kind", TRANSIENT)
def test_six_retries_while_nothing_has_been_produced(kind: FailureKind) -> None:
    """The failed attempt cost only the wait; the seventh failure is final and keeps its name."""
    assert _attempts(RequestFailure(kind=kind, retryable=True)) == (7, kind)


@pytest.mark.parametrize("kind", TRANSIENT)
def test_two_retries_once_output_has_started(kind: FailureKind) -> None:
    """Every reconnect bills a fresh generation; the third failure abandons the stream."""
    failure = RequestFailure(kind=kind, retryable=True, output_started=True)

    assert _attempts(failure) == (3, FailureKind.STREAM_ABANDONED)


def test_failures_of_both_phases_have_their_own_limits() -> None:
    """Six failures before output do not use up the two that may come after it."""
    tally = FailureTally(before_output=6)
    late = RequestFailure(kind=FailureKind.TRANSPORT, retryable=True, output_started=True)

    assert decide(KEY, tally, late).delay is not None
    assert decide(KEY, FailureTally(before_output=6, after_output=2), late).delay is None


@pytest.mark.parametrize(
    "kind", [FailureKind.REFUSED, FailureKind.UNAUTHORIZED, FailureKind.MALFORMED]
)
def test_a_permanent_failure_is_not_repeated(kind: FailureKind) -> None:
    """Sending it again would not help."""
    assert _attempts(RequestFailure(kind=kind)) == (1, kind)


def test_a_rate_limit_waits_only_as_long_as_the_provider_named() -> None:
    """No named delay, or a long one, ends the turn as rate-limited."""
    limited = RequestFailure(kind=FailureKind.RATE_LIMITED)
    short = limited.model_copy(update={"retry_after": timedelta(seconds=3)})
    long = limited.model_copy(update={"retry_after": LONGEST_WAIT + timedelta(seconds=1)})

    assert decide(KEY, FailureTally(), limited).delay is None
    assert decide(KEY, FailureTally(), long).delay is None
    delay = decide(KEY, FailureTally(), short).delay
    assert delay is not None
    assert timedelta(seconds=3) <= delay <= timedelta(seconds=4)


def test_a_lost_worker_costs_no_wait() -> None:
    """The provider did nothing wrong."""
    failure = RequestFailure(kind=FailureKind.WORKER_LOST, retryable=True, output_started=True)

    assert decide(KEY, FailureTally(), failure).delay == timedelta()


def test_retry_after_zero_means_the_ordinary_delay() -> None:
    """A server that says "at once" while it is overloaded does not get a busy loop (A-08)."""
    failure = RequestFailure(kind=FailureKind.OVERLOADED, retryable=True, retry_after=timedelta())

    delay = decide(KEY, FailureTally(), failure).delay

    assert delay is not None
    assert delay >= timedelta(seconds=0.5)


@given(
    before=st.integers(0, 6),
    after=st.integers(0, 2),
    wish=st.one_of(st.none(), st.integers(1, 120)),
    output=st.booleans(),
)
def test_jitter_only_adds_and_the_delay_is_bounded(
    before: int, after: int, wish: int | None, output: bool
) -> None:
    """Every wait is at least the provider's wish and never longer than its bound."""
    wanted = None if wish is None else timedelta(seconds=wish)
    failure = RequestFailure(
        kind=FailureKind.OVERLOADED, retryable=True, output_started=output, retry_after=wanted
    )
    tally = FailureTally(before_output=before, after_output=after)

    first, again = decide(KEY, tally, failure), decide(KEY, tally, failure)

    assert first == again
    if first.delay is not None:
        assert first.delay >= (wanted or timedelta(seconds=0.5))
        assert first.delay <= (wanted or timedelta()) + timedelta(seconds=30)


def test_requests_do_not_retry_in_step() -> None:
    """Different requests get different jitter."""
    failure = RequestFailure(kind=FailureKind.OVERLOADED, retryable=True)
    delays = {
        decide(KEY.model_copy(update={"turn": turn}), FailureTally(), failure).delay
        for turn in range(20)
    }

    assert len(delays) > 10
