"""The conversation workflow: one execution per conversation, for its whole life.

It owns the order of things: which message opens a turn, which steers the running
one, which waits; which questions are open; which jobs still owe the model a word.
Messages arrive as updates that are answered at once, because their text is already
in the store.  Turns are children, one at a time.  Between two turns a long history
continues as new; while that happens, requests are turned away with ``draining`` and
the client repeats them under the same id.
"""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.closing import close_turn
from workflows.contracts.conversation import (
    Cancellation,
    CancellationReceipt,
    ConversationStart,
    ConversationState,
    ConversationStatus,
    Decision,
    DecisionReceipt,
    QueuedMessage,
    Receipt,
    Reconfiguration,
    StatusQuery,
    Submission,
)
from workflows.contracts.failure import FailureKind
from workflows.contracts.job import JobOutcome, JobStarted
from workflows.contracts.key import TurnKey
from workflows.contracts.permission import PermissionAnswer, PermissionRequest
from workflows.contracts.turn import (
    JobNotice,
    Steering,
    TurnClosing,
    TurnOutcome,
    TurnReport,
    TurnStart,
)
from workflows.history import history_is_long
from workflows.inbox import Inbox
from workflows.job_ledger import JobLedger
from workflows.policy import identity, search
from workflows.running_turn import RunningTurn, ignore_absence


@workflow.defn
class ConversationWorkflow:
    """Owns one conversation's order of turns, its open questions and its jobs."""

    @workflow.init
    def __init__(self, start: ConversationStart) -> None:
        self._id = start.conversation
        self._start = start
        self._turns = start.state.turns
        self._inbox = Inbox(start.state)
        self._jobs = JobLedger(start.state.jobs)
        self._last_outcome = start.state.last_outcome
        self._running: RunningTurn | None = None
        self._questions: dict[str, PermissionRequest] = {}
        self._draining = False

    @workflow.run
    async def run(self, start: ConversationStart) -> None:  # noqa: ARG002 -- see __init__
        """Run one turn after the other, for ever."""
        while True:
            await workflow.wait_condition(lambda: self._inbox.is_due or history_is_long())
            if history_is_long():
                await self._continue_as_new()
            if self._inbox.is_due:
                await self._run_turn(self._inbox.queue.popleft())

    @workflow.update
    def submit(self, submission: Submission) -> Receipt:
        """Take a message exactly once and say where it went."""
        running = self._running
        self._turns = max(self._turns, submission.turns)
        steering = len(self._inbox.steering)
        receipt = self._inbox.take(
            submission,
            running=None if running is None else running.key.turn,
            next_turn=self._turns + 1,
        )
        if running is not None and len(self._inbox.steering) > steering:
            running.tell(Steering(key=running.key, message=receipt.message))
        return receipt

    @submit.validator
    def _check_submission(self, submission: Submission) -> None:
        self._check(submission.conversation)

    @workflow.update
    async def cancel(self, cancellation: Cancellation) -> CancellationReceipt:
        """Cancel the running turn or one job, and say what was found."""
        if cancellation.job is not None:
            return await self._cancel_job(cancellation.job)
        running = self._running
        if running is None or cancellation.turn not in (None, running.key.turn):
            return CancellationReceipt()
        running.stop()
        self._inbox.held = self._inbox.held or cancellation.hold_queue
        return CancellationReceipt(turn=running.key.turn)

    @cancel.validator
    def _check_cancellation(self, cancellation: Cancellation) -> None:
        self._check(cancellation.conversation)

    @workflow.update
    def decide(self, decision: Decision) -> DecisionReceipt:
        """Answer an open question.  The first answer counts."""
        question = self._questions.pop(decision.request, None)
        if question is not None and self._running is not None:
            self._running.tell(PermissionAnswer(key=question.key, answer=decision.answer))
            self._show_waiting()
        return DecisionReceipt(request=decision.request, accepted=question is not None)

    @decide.validator
    def _check_decision(self, decision: Decision) -> None:
        self._check(decision.conversation)

    @workflow.update
    def configure(self, change: Reconfiguration) -> ConversationStatus:
        """Change the model, the effort or the permission mode of later turns."""
        values = change.model_dump(include={"model", "effort", "mode"}, exclude_none=True)
        self._start = self._start.model_copy(update=values)
        return self._status()

    @configure.validator
    def _check_configuration(self, change: Reconfiguration) -> None:
        self._check(change.conversation)

    @workflow.query
    def status(self, query: StatusQuery) -> ConversationStatus:
        """Say where the conversation stands."""
        if query.conversation != self._id:
            raise ApplicationError("The query names another conversation", type="misdirected")
        return self._status()

    @workflow.signal
    def ask(self, question: PermissionRequest) -> None:
        """Hear a question of the running turn."""
        if self._running is not None and question.key.turn == self._running.key.turn:
            self._questions[question.id] = question
            self._show_waiting()

    @workflow.signal
    def job_started(self, started: JobStarted) -> None:
        """Remember a detached command; its end may have been heard already."""
        if started.conversation == self._id:
            self._jobs.begin(started.record)

    @workflow.signal
    def job_finished(self, outcome: JobOutcome) -> None:
        """Pass the end of a job on to the running turn, or keep it for the next one."""
        is_news = outcome.conversation == self._id and self._jobs.end(outcome)
        if is_news and self._running is not None:
            self._running.tell(JobNotice(key=self._running.key, job=outcome.job))

    async def _run_turn(self, opening: QueuedMessage) -> None:
        """Run one turn and take its report."""
        self._turns += 1
        key = TurnKey(conversation=self._id, turn=self._turns)
        start = TurnStart(
            key=key,
            message=opening.message,
            host=self._start.host,
            model=self._start.model,
            effort=self._start.effort,
            mode=self._start.mode,
            answerable=opening.answerable,
            deliveries=self._jobs.owed,
        )
        self._running = RunningTurn(key)
        report = await self._running.run(start)
        if report is None:
            report = await self._close_for_turn(key)
        self._running = None
        self._take_report(report)

    async def _close_for_turn(self, key: TurnKey) -> TurnReport:
        """Close the record of a turn that was terminated, or failed by a defect."""
        closing = TurnClosing(
            key=key,
            outcome=TurnOutcome.FAILED,
            failure=FailureKind.INTERNAL,
            steering=tuple(self._inbox.steering),
            deliveries=self._jobs.owed,
        )
        closed = await close_turn(closing)
        return TurnReport(
            key=key,
            outcome=TurnOutcome.FAILED,
            failure=FailureKind.INTERNAL,
            consumed=closed.consumed,
            delivered=closed.delivered,
        )

    def _take_report(self, report: TurnReport) -> None:
        """Let go of what belonged to the turn; what it missed waits for the next one."""
        self._inbox.requeue_missed(report.consumed)
        self._jobs.settle(report.delivered)
        self._questions.clear()
        self._last_outcome = report.outcome
        self._show_waiting()

    async def _cancel_job(self, job: str) -> CancellationReceipt:
        if not self._jobs.is_running(job):
            return CancellationReceipt()
        handle = workflow.get_external_workflow_handle(identity.job(self._id, job))
        await ignore_absence(handle.cancel())
        return CancellationReceipt(job=job)

    async def _continue_as_new(self) -> None:
        self._draining = True
        await workflow.wait_condition(workflow.all_handlers_finished)
        state = ConversationState(
            turns=self._turns,
            queue=tuple(self._inbox.queue),
            held=self._inbox.held,
            taken=self._inbox.taken,
            jobs=self._jobs.records,
            last_outcome=self._last_outcome,
        )
        workflow.continue_as_new(self._start.model_copy(update={"state": state}))

    def _show_waiting(self) -> None:
        state = search.WAITING if self._questions else search.OPEN
        known = workflow.info().typed_search_attributes.get(search.STATE)
        if state != (known or search.OPEN):
            workflow.upsert_search_attributes([search.STATE.value_set(state)])

    def _check(self, conversation: str) -> None:
        """Turn away what is for somebody else, or comes while this run ends."""
        if conversation != self._id:
            raise ApplicationError("The request names another conversation", type="misdirected")
        if self._draining:
            raise ApplicationError("The conversation continues as new", type="draining")

    def _status(self) -> ConversationStatus:
        return ConversationStatus(
            conversation=self._id,
            model=self._start.model,
            effort=self._start.effort,
            mode=self._start.mode,
            host=self._start.host,
            turns=self._turns,
            running=None if self._running is None else self._running.key.turn,
            queue=tuple(queued.message for queued in self._inbox.queue),
            steering=tuple(self._inbox.steering),
            held=self._inbox.held,
            pending=tuple(self._questions.values()),
            jobs=self._jobs.records,
            last_outcome=self._last_outcome,
        )
