"""Revival in a second: a starting worker reports what its dead predecessors were doing.

Each workflow they named is taken off their sticky queue, and each attempt they
were running fails by its task token with ``worker-lost``, so that the workflow
decides at once.  Nothing here is lost by a crash in the middle: a journal is
removed when everything in it has been reported, and reporting twice does nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.client import Client
from temporalio.converter import ActivitySerializationContext
from temporalio.service import RPCError, RPCStatusCode

from activities.errors import ServerUnreachableError
from activities.failures import lost_attempt
from worker.journal import AbandonedJournal, Entry, take_abandoned

AT_ONCE: Final = 8
"""How many reports are on their way at the same time."""
PATIENCE: Final = timedelta(seconds=60)
"""The server may be starting too: how long it may stay away."""
PAUSE: Final = timedelta(milliseconds=200)
_PASSING: Final = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
    }
)
_MOOT: Final = frozenset(
    {
        RPCStatusCode.NOT_FOUND,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.INVALID_ARGUMENT,
    }
)
"""The attempt or its workflow has ended meanwhile, or this server never knew it."""

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Execution(NamedTuple):
    """One run of one workflow."""

    workflow: str
    run: str


async def recover(client: Client, inflight: Path, *task_queues: str) -> int:
    """Report what dead workers of this machine were doing; return how many attempts.

    *inflight* is the directory of the journals; *task_queues* are where workflows are
    served.  The journal of this very process is held, and so never taken for dead.

    Raises:
        ServerUnreachableError: the server stays away; the journals stay for the next try.
    """
    journals = take_abandoned(inflight)
    try:
        attempts = [attempt for journal in journals for attempt in journal.attempts()]
        if journals:
            await _report(client, attempts, task_queues)
        for journal in journals:
            journal.discard()
    finally:
        _release(journals)
    return len(attempts)


def _release(journals: list[AbandonedJournal]) -> None:
    for journal in journals:
        journal.release()


async def _report(
    client: Client, attempts: list[tuple[Entry, bool]], task_queues: tuple[str, ...]
) -> None:
    """Report *attempts* first, then free every other workflow that may wait for the dead."""
    named = {Execution(entry.workflow, entry.run) for entry, _ in attempts}
    await _each(named, lambda execution: _free(client, execution))
    await _each(attempts, lambda attempt: _fail(client, *attempt))
    served = await _persist(lambda: _open(client, task_queues)) or set()
    await _each(served - named, lambda execution: _free(client, execution))
    _log.info("Reported %d attempts of lost workers", len(attempts))


async def _each(items: Iterable[_Item], report: Callable[[_Item], Awaitable[None]]) -> None:
    """Report every item, a bounded number at a time; then raise the first trouble."""
    turnstile = asyncio.Semaphore(AT_ONCE)

    async def report_in_turn(item: _Item) -> None:
        async with turnstile:
            await report(item)

    outcomes = await asyncio.gather(*map(report_in_turn, items), return_exceptions=True)
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _open(client: Client, task_queues: tuple[str, ...]) -> set[Execution]:
    """Return every open workflow of *task_queues*."""
    names = ", ".join(f"'{name}'" for name in task_queues)
    query = f"ExecutionStatus = 'Running' AND TaskQueue IN ({names})"
    return {Execution(found.id, found.run_id) async for found in client.list_workflows(query)}


async def _free(client: Client, execution: Execution) -> None:
    """Take one workflow off the sticky queue of a worker that may be dead."""
    request = ResetStickyTaskQueueRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=execution.workflow, run_id=execution.run),
    )
    await _persist(lambda: client.workflow_service.reset_sticky_task_queue(request))


async def _fail(client: Client, entry: Entry, output_started: bool) -> None:  # noqa: FBT001 -- a recorded fact
    """Fail one attempt by its task token, with details sealed for its workflow."""
    # A task token names no workflow to the SDK, so the context is given by hand.
    context = ActivitySerializationContext(
        namespace=entry.namespace,
        workflow_id=entry.workflow,
        workflow_type=None,
        activity_id=entry.activity,
        activity_type=entry.activity_type,
        activity_task_queue=None,
        is_local=False,
    )
    handle = client.get_async_activity_handle(task_token=entry.task_token).with_context(context)
    await _persist(lambda: handle.fail(lost_attempt(output_started=output_started)))


async def _persist(call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
    """Make *call* until the server answers; None if what it is about has ended."""
    deadline = asyncio.get_running_loop().time() + PATIENCE.total_seconds()
    while True:
        try:
            return await call()
        except RPCError as error:
            if error.status in _MOOT:
                _log.info("Nothing to report: %s", error.message)
                return None
            if error.status not in _PASSING:
                raise
            if asyncio.get_running_loop().time() > deadline:
                raise ServerUnreachableError(
                    f"The Temporal server did not answer for {PATIENCE.total_seconds():.0f} s: "
                    f"{error.message}"
                ) from error
            await asyncio.sleep(PAUSE.total_seconds())
