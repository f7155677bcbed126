"""A turn while it runs, as its conversation sees it: started, served with letters, awaited.

Letters (steering, finished jobs, answers) reach the turn in the order they came.  One
that meets a turn which has just ended is not lost: the report tells what the turn
consumed, and the rest stays with the conversation.
"""

from collections import deque
from collections.abc import Coroutine
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, FailureError
from temporalio.workflow import ChildWorkflowHandle

from workflows.contracts.key import TurnKey
from workflows.contracts.permission import PermissionAnswer
from workflows.contracts.turn import JobNotice, Steering, TurnReport, TurnStart
from workflows.policy import identity, queues, search, timeouts
from workflows.turn import TurnWorkflow

Letter = Steering | JobNotice | PermissionAnswer
TurnHandle = ChildWorkflowHandle[TurnWorkflow, TurnReport]


class RunningTurn:
    """The one turn that runs now."""

    def __init__(self, key: TurnKey) -> None:
        self.key = key
        self._letters: deque[Letter] = deque()
        self._stop_requested = False

    def tell(self, letter: Letter) -> None:
        """Have *letter* delivered."""
        self._letters.append(letter)

    def stop(self) -> None:
        """Have the turn cancelled."""
        self._stop_requested = True

    async def run(self, start: TurnStart) -> TurnReport | None:
        """Run the turn and return its report; None if it was ended from outside."""
        try:
            handle = await self._start(start)
            while not handle.done():
                await workflow.wait_condition(
                    lambda: handle.done() or bool(self._letters) or self._stop_requested
                )
                await self._serve(handle)
            return await handle
        except ChildWorkflowError:
            return None

    async def _start(self, start: TurnStart) -> TurnHandle:
        return await workflow.start_child_workflow(
            TurnWorkflow.run,
            start,
            id=identity.turn(self.key),
            task_queue=queues.of_host(start.host),
            task_timeout=timeouts.WORKFLOW_TASK,
            # A conversation that is terminated must not leave commands running.
            parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
            search_attributes=search.attributes("turn", self.key.conversation),
            static_summary=f"turn {self.key.turn}",
        )

    async def _serve(self, handle: TurnHandle) -> None:
        if self._stop_requested and not handle.done():
            self._stop_requested = False
            await ignore_absence(workflow.get_external_workflow_handle(handle.id).cancel())
        while self._letters and not handle.done():
            await self._deliver(handle, self._letters.popleft())

    async def _deliver(self, handle: TurnHandle, letter: Letter) -> None:
        match letter:
            case Steering():
                await ignore_absence(handle.signal(TurnWorkflow.steer, letter))
            case JobNotice():
                await ignore_absence(handle.signal(TurnWorkflow.notify, letter))
            case PermissionAnswer():
                await ignore_absence(handle.signal(TurnWorkflow.answer, letter))


async def ignore_absence(message: Coroutine[Any, Any, None]) -> None:
    """Await a message to a workflow that may just have ended."""
    try:
        await message
    except FailureError:
        workflow.logger.info("a message came after its workflow had ended")
