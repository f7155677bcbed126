"""The inbox: exactly once, in order, nothing lost; and the ledger of jobs."""

from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.conversation import ConversationState, Delivery, Disposition, Submission
from workflows.contracts.job import JobOutcome, JobRecord, JobState
from workflows.inbox import Inbox
from workflows.job_ledger import JobLedger


def _submission(message: str, delivery: Delivery = Delivery.QUEUE) -> Submission:
    return Submission(command="submit", conversation="c", message=message, delivery=delivery)


def test_a_message_that_comes_again_gets_its_first_receipt() -> None:
    """Whatever has happened meanwhile, and also in the next run."""
    inbox = Inbox(ConversationState())
    first = inbox.take(_submission("m"), running=None, next_turn=1)
    inbox.queue.clear()

    assert inbox.take(_submission("m", Delivery.STEER), running=1, next_turn=2) == first
    later = Inbox(ConversationState(taken=inbox.taken))
    assert later.take(_submission("m"), running=None, next_turn=9) == first
    assert not later.queue


def test_messages_start_steer_or_queue() -> None:
    """The receipt says which, and where in the queue."""
    inbox = Inbox(ConversationState())
    receipts = [
        inbox.take(_submission("a", Delivery.STEER), running=None, next_turn=4),
        inbox.take(_submission("b", Delivery.STEER), running=4, next_turn=5),
        inbox.take(_submission("c"), running=4, next_turn=5),
    ]

    assert [(r.disposition, r.turn, r.position) for r in receipts] == [
        (Disposition.STARTED, 4, 0),
        (Disposition.STEERING, 4, 0),
        (Disposition.QUEUED, None, 2),
    ]


def test_missed_steering_runs_before_older_follow_ups() -> None:
    """Domain reference 7.2; what the turn consumed does not come back."""
    inbox = Inbox(ConversationState())
    for message in ("later-1", "later-2"):
        inbox.take(_submission(message), running=1, next_turn=2)
    for message in ("s1", "s2", "s3"):
        inbox.take(_submission(message, Delivery.STEER), running=1, next_turn=2)

    inbox.requeue_missed(["s2"])

    assert [queued.message for queued in inbox.queue] == ["s1", "s3", "later-1", "later-2"]
    assert inbox.steering == []


def test_a_held_queue_waits_for_the_next_submission() -> None:
    """After Ctrl-C nothing starts on its own."""
    inbox = Inbox(ConversationState())
    inbox.take(_submission("a"), running=1, next_turn=2)
    inbox.held = True

    assert not inbox.is_due
    inbox.take(_submission("b"), running=None, next_turn=2)
    assert inbox.is_due
    assert [queued.message for queued in inbox.queue] == ["a", "b"]


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["queue", "steer"]), st.integers(0, 30)),
        st.tuples(st.just("end"), st.sets(st.integers(0, 30))),
    ),
    max_size=40,
)


@given(ACTIONS)
def test_no_message_is_lost_or_doubled(actions: list[tuple[str, object]]) -> None:
    """Every distinct message is queued, steering, started or consumed, exactly once."""
    inbox = Inbox(ConversationState())
    sent: set[str] = set()
    done: list[str] = []
    running = False
    for action, value in actions:
        if action == "end":
            assert isinstance(value, set)
            consumed = [m for m in inbox.steering if int(m) in value]
            done += consumed
            inbox.requeue_missed(consumed)
            running = False
        else:
            delivery = Delivery(action)
            inbox.take(
                _submission(str(value), delivery), running=1 if running else None, next_turn=1
            )
            sent.add(str(value))
        if not running and inbox.is_due:
            done.append(inbox.queue.popleft().message)
            running = True

    everywhere = [*done, *inbox.steering, *(queued.message for queued in inbox.queue)]
    assert sorted(everywhere) == sorted(sent)


def test_a_job_is_owed_until_the_model_has_heard_of_it() -> None:
    """Also when its end is heard before its beginning."""
    ledger = JobLedger(())
    outcome = JobOutcome(conversation="c", job="j-1", state=JobState.COMPLETED)

    assert ledger.end(outcome)
    ledger.begin(JobRecord(job="j-1", execution="x"))
    assert not ledger.end(outcome)
    assert ledger.owed == ("j-1",)
    ledger.begin(JobRecord(job="j-2", execution="y"))
    ledger.settle(["j-1", "j-2"])
    assert [record.job for record in ledger.records] == ["j-2"]
