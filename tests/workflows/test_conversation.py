"""The conversation: messages once and in order, steering, questions, cancellation, jobs."""

import asyncio
from datetime import timedelta

import pytest
from temporalio import activity
from temporalio.client import WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.harness import Conversation
from tests.workflows.ports import ScriptedProvider, ScriptedTools, answers, call, fails
from workflows.contracts.conversation import Delivery, Disposition, Submission
from workflows.contracts.failure import FailureKind
from workflows.contracts.job import JobState
from workflows.contracts.permission import Answer, Grant, Verdict
from workflows.contracts.provider import RequestFailure, RequestOrder, RequestReply
from workflows.contracts.tool import CallReport, CallStatus, JobHandoff, ToolOrder
from workflows.contracts.turn import TurnOutcome
from workflows.conversation import ConversationWorkflow

OVERLOADED = RequestFailure(
    kind=FailureKind.OVERLOADED, retryable=True, retry_after=timedelta(seconds=0.01)
)


class Gate:
    """A step of the provider that waits for the test."""

    def __init__(self, *calls: object) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.calls = calls

    async def __call__(self, order: RequestOrder) -> RequestReply:
        """Answer when the test opens the gate."""
        self.reached.set()
        await self.opened.wait()
        return RequestReply(key=order.key, calls=self.calls)


async def test_a_turn_alternates_requests_and_calls(dev_server: WorkflowEnvironment) -> None:
    """Two requests, one call between them, one closing, and a truthful status."""
    conversation = Conversation(dev_server, ScriptedProvider(answers(call()), answers()))

    async with conversation.worker():
        await conversation.start()
        receipt = await conversation.submit("m-1")
        status = await conversation.until_idle(1)

    assert (receipt.disposition, receipt.turn) == (Disposition.STARTED, 1)
    assert [order.key.request for order in conversation.provider.orders] == [1, 2]
    assert [order.opening for order in conversation.provider.orders] == ["m-1", None]
    assert [order.key.ordinal for order in conversation.tools.orders] == [0]
    assert [closing.outcome for closing in conversation.transcript.closings] == [
        TurnOutcome.COMPLETED
    ]
    assert status.last_outcome is TurnOutcome.COMPLETED


async def test_a_message_sent_again_runs_once(dev_server: WorkflowEnvironment) -> None:
    """The same id gets the same receipt, under whatever update id it comes."""
    conversation = Conversation(dev_server)

    async with conversation.worker():
        await conversation.start()
        first = await conversation.submit("m-1")
        await conversation.until_idle(1)
        again = await conversation.submit("m-1")
        await conversation.submit("m-2")
        await conversation.until_idle(2)

    assert again == first
    assert [order.opening for order in conversation.provider.orders] == ["m-1", "m-2"]


async def test_steering_reaches_the_next_request_in_order(dev_server: WorkflowEnvironment) -> None:
    """Also when the reply that it meets would have ended the turn."""
    gate = Gate()
    conversation = Conversation(dev_server, ScriptedProvider(gate))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await gate.reached.wait()
        receipts = [await conversation.submit(f"s-{n}", Delivery.STEER) for n in (1, 2)]
        await conversation.submit("later")
        gate.opened.set()
        status = await conversation.until_idle(2)

    assert [receipt.disposition for receipt in receipts] == [Disposition.STEERING] * 2
    orders = [
        (order.key.turn, order.opening, order.steering) for order in conversation.provider.orders
    ]
    assert orders == [(1, "m-1", ()), (1, None, ("s-1", "s-2")), (2, "later", ())]
    assert status.steering == ()


async def test_a_question_waits_for_its_answer(dev_server: WorkflowEnvironment) -> None:
    """The first answer counts, the call runs as answered, a second answer finds nothing open."""
    asked = answers(call(0, Verdict.ASK), call(1, Verdict.ASK), call(2))
    conversation = Conversation(dev_server, ScriptedProvider(asked))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        status = await conversation.until(lambda status: len(status.pending) == 2)
        first, second = sorted(question.id for question in status.pending)
        receipts = [
            await conversation.decide(first, Answer.SANDBOX),
            await conversation.decide(first, Answer.FULL),
            await conversation.decide(second, Answer.DENY),
        ]
        await conversation.until_idle(1)

    assert [receipt.accepted for receipt in receipts] == [True, False, True]
    orders = {order.key.ordinal: order for order in conversation.tools.orders}
    assert orders[0].grant is Grant.SANDBOX
    assert orders[0].answer is Answer.SANDBOX
    assert orders[1].answer is Answer.DENY
    assert orders[2].answer is None


async def test_a_question_survives_its_worker(dev_server: WorkflowEnvironment) -> None:
    """The worker that asked is gone; the one that hears the answer finishes the turn."""
    conversation = Conversation(dev_server, ScriptedProvider(answers(call(0, Verdict.ASK))))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        status = await conversation.until(lambda status: bool(status.pending))
    async with conversation.worker():
        await conversation.decide(status.pending[0].id, Answer.FULL)
        status = await conversation.until_idle(1)

    assert status.last_outcome is TurnOutcome.COMPLETED
    assert [order.answer for order in conversation.tools.orders] == [Answer.FULL]


async def test_a_cancelled_turn_ends_its_calls_and_the_next_message_runs(
    dev_server: WorkflowEnvironment,
) -> None:
    """The activity hears of it, the turn is closed as cancelled, the queue goes on."""
    heard = asyncio.Event()

    async def run(order: ToolOrder) -> CallReport:
        try:
            while True:
                await asyncio.sleep(0.1)
                activity.heartbeat()
        except asyncio.CancelledError:
            heard.set()
            raise
        return CallReport(key=order.key, status=CallStatus.OK)

    conversation = Conversation(dev_server, ScriptedProvider(answers(call())), ScriptedTools(run))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        async with asyncio.timeout(20):
            while not conversation.tools.orders:
                await asyncio.sleep(0.02)
        receipt = await conversation.cancel()
        status = await conversation.until_idle(1)
        await conversation.submit("m-2")
        await conversation.until_idle(2)

    assert receipt.turn == 1
    assert heard.is_set()
    assert status.last_outcome is TurnOutcome.CANCELLED
    outcomes = [closing.outcome for closing in conversation.transcript.closings]
    assert outcomes == [TurnOutcome.CANCELLED, TurnOutcome.COMPLETED]


async def test_a_cancelled_question_is_closed(dev_server: WorkflowEnvironment) -> None:
    """Nobody is left waiting, and a late answer finds nothing open."""
    conversation = Conversation(dev_server, ScriptedProvider(answers(call(0, Verdict.ASK))))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        question = (await conversation.until(lambda status: bool(status.pending))).pending[0]
        await conversation.cancel()
        status = await conversation.until_idle(1)
        late = await conversation.decide(question.id, Answer.FULL)

    assert status.pending == ()
    assert not late.accepted
    assert conversation.tools.orders == []


async def test_a_held_queue_waits_for_the_owner(dev_server: WorkflowEnvironment) -> None:
    """After Ctrl-C queued input stays, until somebody submits again."""
    gate = Gate()
    conversation = Conversation(dev_server, ScriptedProvider(gate))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await gate.reached.wait()
        await conversation.submit("queued")
        await conversation.cancel(hold=True)
        held = await conversation.until_idle(1)
        await conversation.submit("m-3")
        await conversation.until_idle(3)

    assert held.held
    assert held.queue == ("queued",)
    openings = [order.opening for order in conversation.provider.orders]
    assert openings == ["m-1", "queued", "m-3"]


async def test_failed_attempts_are_repeated_and_counted(dev_server: WorkflowEnvironment) -> None:
    """Six may fail before output; every order carries the tally so far."""
    conversation = Conversation(dev_server, ScriptedProvider(*[fails(OVERLOADED)] * 2, answers()))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        status = await conversation.until_idle(1)

    assert status.last_outcome is TurnOutcome.COMPLETED
    assert [order.failures.before_output for order in conversation.provider.orders] == [0, 1, 2]
    assert {order.key.request for order in conversation.provider.orders} == {1}


async def test_a_permanent_failure_ends_the_turn_and_not_the_conversation(
    dev_server: WorkflowEnvironment,
) -> None:
    """The closing names the kind; the next message runs."""
    refused = fails(RequestFailure(kind=FailureKind.REFUSED))
    conversation = Conversation(dev_server, ScriptedProvider(refused))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await conversation.submit("m-2")
        await conversation.until_idle(2)

    closings = conversation.transcript.closings
    assert [(closing.outcome, closing.failure) for closing in closings] == [
        (TurnOutcome.FAILED, FailureKind.REFUSED),
        (TurnOutcome.COMPLETED, None),
    ]


async def test_a_tool_that_raises_ends_the_turn_and_not_the_worker(
    dev_server: WorkflowEnvironment,
) -> None:
    """The same worker runs the next turn."""

    async def run(order: ToolOrder) -> CallReport:
        raise RuntimeError(f"defect in {order.key.execution}")

    conversation = Conversation(dev_server, ScriptedProvider(answers(call())), ScriptedTools(run))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await conversation.submit("m-2")
        status = await conversation.until_idle(2)

    closings = conversation.transcript.closings
    assert [(closing.outcome, closing.failure) for closing in closings] == [
        (TurnOutcome.FAILED, FailureKind.INTERNAL),
        (TurnOutcome.COMPLETED, None),
    ]
    assert status.last_outcome is TurnOutcome.COMPLETED


async def test_a_terminated_turn_is_closed_by_its_conversation(
    dev_server: WorkflowEnvironment,
) -> None:
    """Somebody ended it from outside; the record is closed all the same and work goes on."""
    gate = Gate()
    conversation = Conversation(dev_server, ScriptedProvider(gate))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await gate.reached.wait()
        await dev_server.client.get_workflow_handle(f"turn:{conversation.id}:1").terminate()
        await conversation.submit("m-2")
        status = await conversation.until_idle(2)

    closings = conversation.transcript.closings
    assert [(closing.key.turn, closing.outcome) for closing in closings] == [
        (1, TurnOutcome.FAILED),
        (2, TurnOutcome.COMPLETED),
    ]
    assert status.last_outcome is TurnOutcome.COMPLETED


async def test_a_job_outlives_its_turn_and_is_told_once(dev_server: WorkflowEnvironment) -> None:
    """A job that ends between turns is delivered by the next one, and then forgotten."""

    async def run(order: ToolOrder) -> CallReport:
        job = JobHandoff(job="j-1", execution=order.key.execution)
        return CallReport(key=order.key, status=CallStatus.OK, job=job)

    conversation = Conversation(dev_server, ScriptedProvider(answers(call())), ScriptedTools(run))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        running = await conversation.until_idle(1)
        conversation.tools.jobs.setdefault("j-1", asyncio.Event()).set()
        ended = await conversation.until(lambda status: status.jobs[0].state is JobState.COMPLETED)
        await conversation.submit("m-2")
        told = await conversation.until_idle(2)

    assert [job.state for job in running.jobs] == [JobState.RUNNING]
    assert [job.job for job in ended.jobs] == ["j-1"]
    assert told.jobs == ()
    assert [order.deliveries for order in conversation.provider.orders] == [(), (), ("j-1",)]


async def test_a_job_is_cancelled_by_name(dev_server: WorkflowEnvironment) -> None:
    """The watch ends, the outcome says so, and an unknown job is not found."""

    async def run(order: ToolOrder) -> CallReport:
        job = JobHandoff(job="j-1", execution=order.key.execution)
        return CallReport(key=order.key, status=CallStatus.OK, job=job)

    conversation = Conversation(dev_server, ScriptedProvider(answers(call())), ScriptedTools(run))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await conversation.until_idle(1)
        unknown = await conversation.cancel(job="j-9")
        receipt = await conversation.cancel(job="j-1")
        ended = await conversation.until(
            lambda status: status.jobs[0].state is not JobState.RUNNING
        )

    assert (unknown.job, receipt.job) == (None, "j-1")
    assert ended.jobs[0].state is JobState.CANCELLED


async def test_a_job_that_nobody_can_watch_is_told_as_unknown(
    dev_server: WorkflowEnvironment,
) -> None:
    """A watch that fails for good ends the job; the model hears of it like of any other."""

    async def run(order: ToolOrder) -> CallReport:
        job = JobHandoff(job="j-1", execution=order.key.execution)
        return CallReport(key=order.key, status=CallStatus.OK, job=job)

    conversation = Conversation(dev_server, ScriptedProvider(answers(call())), ScriptedTools(run))
    conversation.tools.unwatchable.add("j-1")

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        ended = await conversation.until(
            lambda status: bool(status.jobs) and status.jobs[0].state is not JobState.RUNNING
        )
        await conversation.until_idle(1)

    assert ended.jobs[0].state is JobState.UNKNOWN


async def test_two_hundred_turns_across_continue_as_new_lose_no_update(
    dev_server: WorkflowEnvironment,
) -> None:
    """Four clients at once; every message runs exactly one turn, over several runs."""
    conversation = Conversation(dev_server)
    clients, each = 4, 50

    async def speak(client: int) -> None:
        for number in range(each):
            await conversation.submit(f"m-{client}-{number}")

    async with conversation.worker():
        await conversation.start()
        first_run = (await conversation.handle.describe()).run_id
        async with asyncio.TaskGroup() as group:
            for client in range(clients):
                group.create_task(speak(client))
        async with asyncio.timeout(150):
            while (await conversation.status()).running or len(conversation.provider.orders) < 200:
                await asyncio.sleep(0.2)
        last_run = (await conversation.handle.describe()).run_id

    openings = [order.opening for order in conversation.provider.orders]
    assert len(openings) == len(set(openings)) == clients * each
    assert [order.key.turn for order in conversation.provider.orders] == list(range(1, 201))
    assert first_run != last_run


async def test_a_long_turn_continues_as_new_unnoticed(dev_server: WorkflowEnvironment) -> None:
    """Forty calls outgrow a run; requests are numbered on, the parent gets one report."""
    steps = [answers(call()) for _ in range(40)]
    conversation = Conversation(dev_server, ScriptedProvider(*steps))

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        async with asyncio.timeout(60):
            await conversation.until_idle(1)

    assert [order.key.request for order in conversation.provider.orders] == list(range(1, 42))
    assert [closing.outcome for closing in conversation.transcript.closings] == [
        TurnOutcome.COMPLETED
    ]


async def test_requests_for_another_conversation_are_refused(
    dev_server: WorkflowEnvironment,
) -> None:
    """A payload that was meant for somebody else does nothing here."""
    conversation = Conversation(dev_server)
    other = Conversation(dev_server)

    async with conversation.worker():
        await conversation.start()
        other_handle_id = conversation.id
        conversation.id, other.id = other.id, other_handle_id
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await other.handle.execute_update(
                "submit",
                {"command": "submit", "conversation": conversation.id, "message": "m"},
            )

    assert getattr(refusal.value.cause, "type", None) == "misdirected"
    assert conversation.provider.orders == []


async def test_a_conversation_started_from_an_older_state_uses_no_turn_twice(
    dev_server: WorkflowEnvironment,
) -> None:
    """Somebody replays an old start; the client's knowledge of the store wins."""
    conversation = Conversation(dev_server)

    async with conversation.worker():
        await conversation.start()
        submission = Submission(
            command="submit", conversation=conversation.id, message="m-1", turns=41
        )
        receipt = await conversation.handle.execute_update(ConversationWorkflow.submit, submission)
        await conversation.until_idle(42)

    assert receipt.turn == 42
    assert [order.key.turn for order in conversation.provider.orders] == [42]
