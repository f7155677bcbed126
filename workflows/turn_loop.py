"""The turn loop: request, waves of calls, boundary, and again, until the model is done.

A plain class, composed by turns now and by child tasks later.  It decides; what was
said stays in the store.  Between two requests lies a safe boundary: steering and
finished jobs that arrived meanwhile go into the next request.  Each accepted call is
run, or asked about and then run; an attempt that a worker lost is ordered again, and
the activity finds out whether to repeat it, adopt it or call its outcome unknown.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from workflows.contracts.conversation import ConversationSignal
from workflows.contracts.failure import FailureKind
from workflows.contracts.job import JobRecord, JobStart, JobStarted
from workflows.contracts.key import CallKey, RequestKey
from workflows.contracts.permission import Answer, PermissionAnswer, PermissionRequest, Verdict
from workflows.contracts.provider import (
    AcceptedCall,
    FailureTally,
    RequestFailure,
    RequestOrder,
    RequestReply,
)
from workflows.contracts.tool import CallReport, JobHandoff, ToolOrder
from workflows.contracts.turn import TurnProgress, TurnStart
from workflows.history import history_is_long
from workflows.job import JobWorkflow
from workflows.policy import identity, permission, retries, search, timeouts, waves
from workflows.policy.loss import lost
from workflows.ports.provider import ProviderPort
from workflows.ports.tools import ToolPort

ONCE = RetryPolicy(maximum_attempts=1)
"""The workflow owns repetition; the engine never repeats on its own."""
LOST_ATTEMPTS = 20
"""A call whose workers keep dying is a defect of the call: give the turn up."""


class TurnFailed(Exception):
    """The turn cannot go on."""

    def __init__(self, kind: FailureKind) -> None:
        super().__init__(kind.value)
        self.kind = kind


class TurnLoop:
    """Runs the requests and calls of one turn."""

    def __init__(self, start: TurnStart) -> None:
        self._start = start
        self.requests = start.progress.requests
        self.calls = start.progress.calls
        self.steering = list(start.progress.steering)
        """Messages for the next boundary, oldest first."""
        self.deliveries = [*start.deliveries, *start.progress.deliveries]
        """Finished jobs for the next boundary."""
        self.consumed = list(start.progress.consumed)
        self.delivered = list(start.progress.delivered)
        self._answers: dict[CallKey, Answer] = {}
        self.stopping = False
        """Set when the turn is to end: a step that finishes all the same is the last."""

    def progress(self) -> TurnProgress:
        """Return what a run that continues as new needs."""
        return TurnProgress(
            requests=self.requests,
            calls=self.calls,
            steering=tuple(self.steering),
            deliveries=tuple(self.deliveries),
            consumed=tuple(self.consumed),
            delivered=tuple(self.delivered),
        )

    def answer(self, answer: PermissionAnswer) -> None:
        """Take a person's answer to an open question; the first one counts."""
        self._answers.setdefault(answer.key, answer.answer)

    async def run(self) -> bool:
        """Run until the model is done; False means: continue as new from here.

        Raises:
            TurnFailed: the provider or a tool failed beyond repair.
        """
        while True:
            reply = await self._request()
            if not reply.calls and not self.steering:
                return True
            for wave in waves.order(reply.calls):
                await self._run_wave(reply.key, wave)
            if history_is_long():
                return False

    async def _request(self) -> RequestReply:
        """Send the next numbered request until it is answered or beyond repair."""
        key = RequestKey(**dict(self._start.key), request=self.requests + 1)
        tally = FailureTally()
        failure: RequestFailure | None = None
        while True:
            order = self._order(key, tally, failure)
            reply = await self._attempt(order)
            failure = reply.failure
            if failure is None:
                self._take_answer(order, reply)
                return reply
            retry = retries.decide(key, tally, failure)
            if retry.delay is None:
                raise TurnFailed(retry.kind)
            tally = tally.plus(failure)
            if retry.delay:
                await workflow.sleep(retry.delay, summary=f"{failure.kind.value}: retry")
            self._stop_if_asked()

    def _order(
        self, key: RequestKey, tally: FailureTally, failure: RequestFailure | None
    ) -> RequestOrder:
        is_lost = failure is not None and failure.kind is FailureKind.WORKER_LOST
        return RequestOrder(
            key=key,
            failures=tally,
            lost=failure if is_lost else None,
            opening=self._start.message if key.request == 1 else None,
            steering=tuple(self.steering),
            deliveries=tuple(self.deliveries),
            model=self._start.model,
            effort=self._start.effort,
            mode=self._start.mode,
            answerable=self._start.answerable,
        )

    async def _attempt(self, order: RequestOrder) -> RequestReply:
        try:
            reply = await workflow.execute_activity_method(
                ProviderPort.request_model,
                order,
                start_to_close_timeout=timeouts.REQUEST,
                heartbeat_timeout=timeouts.HEARTBEAT,
                retry_policy=ONCE,
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                summary=f"request {order.key.request}, attempt {order.failures.attempt}",
            )
        except ActivityError as error:
            failure = lost(error)
            if failure is None:
                self._stop_if_asked()
                raise TurnFailed(FailureKind.INTERNAL) from error
            return RequestReply(key=order.key, failure=failure)
        if reply.key != order.key:
            # Somebody answered in the activity's place with another request's reply.
            stranger = RequestFailure(kind=FailureKind.WORKER_LOST, retryable=True)
            return RequestReply(key=order.key, failure=stranger)
        return reply

    def _take_answer(self, order: RequestOrder, reply: RequestReply) -> None:
        self.requests = reply.key.request
        self.calls += len(reply.calls)
        self.consumed += order.steering
        self.delivered += order.deliveries
        del self.steering[: len(order.steering)]
        del self.deliveries[: len(order.deliveries)]

    async def _run_wave(self, key: RequestKey, wave: Sequence[AcceptedCall]) -> None:
        """Run the calls of one wave at the same time; wait for all, even if one fails."""
        self._stop_if_asked()
        due = [call for call in wave if call.verdict not in (Verdict.DENY, Verdict.INVALID)]
        runs = (self._run_call(key.call(call.ordinal), call) for call in due)
        ended = await asyncio.gather(*runs, return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):
                raise end

    async def _run_call(self, key: CallKey, call: AcceptedCall) -> None:
        """See one call through: question, attempts, and the job it may leave behind."""
        answer = await self._ask(key, call) if call.verdict is Verdict.ASK else None
        grant = permission.grant_of(call.verdict) if answer is None else None
        if answer is not None:
            grant = permission.grant_answered(answer)
        order = ToolOrder(key=key, answer=answer)
        if grant is not None:
            order = order.model_copy(update={"grant": grant})
        report = await self._run_tool(order, call)
        if report.job is not None:
            await self._hand_off(report.job)

    async def _ask(self, key: CallKey, call: AcceptedCall) -> Answer:
        """Wait for the owner, for as long as it takes: the wait holds no worker."""
        conversation = workflow.get_external_workflow_handle(
            identity.conversation(key.conversation)
        )
        question = PermissionRequest(key=key, tool=call.tool)
        await conversation.signal(ConversationSignal.ASK, question)
        await workflow.wait_condition(lambda: key in self._answers)
        return self._answers[key]

    async def _run_tool(self, order: ToolOrder, call: AcceptedCall) -> CallReport:
        for attempt in range(1, LOST_ATTEMPTS + 1):
            self._stop_if_asked()
            try:
                report = await workflow.execute_activity_method(
                    ToolPort.run_tool,
                    order.model_copy(update={"attempt": attempt}),
                    start_to_close_timeout=timeouts.TOOL,
                    heartbeat_timeout=timeouts.HEARTBEAT,
                    retry_policy=ONCE,
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                    summary=f"{call.tool}, attempt {attempt}",
                )
            except ActivityError as error:
                if lost(error) is None:
                    self._stop_if_asked()
                    raise TurnFailed(FailureKind.INTERNAL) from error
            else:
                if report.key == order.key:
                    return report
        raise TurnFailed(FailureKind.WORKER_LOST)

    async def _hand_off(self, job: JobHandoff) -> None:
        """Start the watch over a detached command; it outlives this turn."""
        conversation = self._start.key.conversation
        await workflow.start_child_workflow(
            JobWorkflow.run,
            JobStart(
                conversation=conversation,
                job=job.job,
                execution=job.execution,
                host=self._start.host,
            ),
            id=identity.job(conversation, job.job),
            task_timeout=timeouts.WORKFLOW_TASK,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            search_attributes=search.attributes("job", conversation),
            static_summary=f"job {job.job}",
        )
        handle = workflow.get_external_workflow_handle(identity.conversation(conversation))
        record = JobRecord(job=job.job, execution=job.execution)
        started = JobStarted(conversation=conversation, record=record)
        await handle.signal(ConversationSignal.JOB_STARTED, started)

    def _stop_if_asked(self) -> None:
        """Turn a cancellation that an activity outran back into one."""
        if self.stopping:
            raise asyncio.CancelledError
