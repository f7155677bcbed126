"""The turn workflow: one message and everything needed to answer it.

It runs the loop, hears steering, answers and the wish to stop, and whatever happens
closes the turn once: every open call gets its result, the record says how the turn
ended, and the conversation gets a report.  A long turn continues as new between two
requests; its parent never notices.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

from workflows.closing import close_turn
from workflows.contracts.failure import FailureKind
from workflows.contracts.permission import PermissionAnswer
from workflows.contracts.turn import (
    JobNotice,
    Steering,
    TurnClosing,
    TurnOutcome,
    TurnReport,
    TurnStart,
)
from workflows.policy import identity
from workflows.turn_loop import TurnFailed, TurnLoop


@workflow.defn(failure_exception_types=[Exception])
class TurnWorkflow:
    """Owns one turn."""

    @workflow.init
    def __init__(self, start: TurnStart) -> None:
        self._start = start
        self._loop = TurnLoop(start)

    @workflow.run
    async def run(self, start: TurnStart) -> TurnReport:
        """Answer the message and report how that ended."""
        self._refuse_strangers()
        turn = asyncio.create_task(self._loop.run())
        await self._until_done_or_stopped(turn)
        try:
            finished = await turn
        except TurnFailed as error:
            return await self._close(TurnOutcome.FAILED, error.kind)
        except (asyncio.CancelledError, FailureError) as error:
            if self._loop.stopping and is_cancelled_exception(error):
                return await self._close(TurnOutcome.CANCELLED)
            raise
        if not finished:
            workflow.continue_as_new(
                start.model_copy(update={"progress": self._loop.progress(), "deliveries": ()})
            )
        return await self._close(TurnOutcome.COMPLETED)

    @workflow.signal
    def steer(self, steering: Steering) -> None:
        """Deliver a message at the next safe boundary."""
        known = (*self._loop.steering, *self._loop.consumed)
        if steering.key == self._start.key and steering.message not in known:
            self._loop.steering.append(steering.message)

    @workflow.signal
    def notify(self, notice: JobNotice) -> None:
        """Tell the model about a finished job at the next safe boundary."""
        known = (*self._loop.deliveries, *self._loop.delivered)
        if notice.key == self._start.key and notice.job not in known:
            self._loop.deliveries.append(notice.job)

    @workflow.signal
    def answer(self, answer: PermissionAnswer) -> None:
        """Take the owner's answer to one of this turn's questions."""
        if (answer.key.conversation, answer.key.turn) == (
            self._start.key.conversation,
            self._start.key.turn,
        ):
            self._loop.answer(answer)

    async def _until_done_or_stopped(self, turn: "asyncio.Task[bool]") -> None:
        """Wait for the loop; a cancellation of the workflow stops it, with its calls."""
        try:
            await workflow.wait_condition(turn.done)
        except asyncio.CancelledError:
            self._loop.stopping = True
            turn.cancel()

    async def _close(self, outcome: TurnOutcome, failure: FailureKind | None = None) -> TurnReport:
        loop = self._loop
        closing = TurnClosing(
            key=self._start.key,
            outcome=outcome,
            failure=failure,
            steering=tuple(loop.steering),
            deliveries=tuple(loop.deliveries),
        )
        closed = await close_turn(closing)
        return TurnReport(
            key=self._start.key,
            outcome=outcome,
            failure=failure,
            requests=loop.requests,
            calls=loop.calls,
            consumed=(*loop.consumed, *closed.consumed),
            delivered=(*loop.delivered, *closed.delivered),
        )

    def _refuse_strangers(self) -> None:
        """Only the conversation starts its turns: a replayed start does nothing."""
        parent = workflow.info().parent
        expected = identity.conversation(self._start.key.conversation)
        if parent is None or parent.workflow_id != expected:
            raise ApplicationError(
                "A turn is started by its conversation", type="stranger", non_retryable=True
            )
