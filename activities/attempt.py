"""One attempt of an activity: heartbeats while it works, and the right end when it is cut.

An attempt is cut for three reasons, and only one of them means that the work is not
wanted: the workflow cancelled it or is gone.  When the worker stops, or the engine has
given the attempt up for lost (an outage), the work goes on under the next attempt;
so this one lets go of it and fails exactly as a new worker would report it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.failures import lost_attempt
from activities.inflight import output_started
from workflows.policy.timeouts import HEARTBEAT_EVERY

T = TypeVar("T")


async def attempt(
    work: Callable[[asyncio.Event], Coroutine[Any, Any, T]], *, use_grace: bool = False
) -> T:
    """Run *work* and return its result.

    *work* gets an event that is set before it is cancelled if it has to let go: leave
    processes running and store nothing.  *use_grace* keeps it going while a stopping
    worker still grants time, for work that cannot be taken up again.

    Raises:
        ApplicationError: type ``worker-lost``; the next attempt goes on.
        CancelledError: the work is not wanted any more.
    """
    let_go = asyncio.Event()
    task = asyncio.create_task(work(let_go))
    beats = asyncio.create_task(_beat())
    stop = asyncio.create_task(activity.wait_for_worker_shutdown())
    try:
        await asyncio.wait({task} if use_grace else {task, stop}, return_when="FIRST_COMPLETED")
        if not task.done():
            let_go.set()
    except asyncio.CancelledError:
        if not await _is_unwanted():
            let_go.set()
    finally:
        beats.cancel()
        stop.cancel()
    return await _end(task, let_go)


async def _end(task: asyncio.Task[T], let_go: asyncio.Event) -> T:
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            # Asked again while the work winds up: it has been told already.
            continue
    if not task.cancelled():
        return task.result()
    if let_go.is_set():
        raise lost_attempt(output_started=output_started())
    raise asyncio.CancelledError


async def _beat() -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_EVERY.total_seconds())
        activity.heartbeat()


async def _is_unwanted() -> bool:
    """Return whether the workflow asked for the end, or is not there to want anything."""
    details = activity.cancellation_details()
    if details is not None and details.cancel_requested:
        return True
    if details is None or not details.not_found:
        return False
    info = activity.info()
    handle = activity.client().get_workflow_handle(
        str(info.workflow_id), run_id=info.workflow_run_id
    )
    try:
        status = (await handle.describe()).status
    except RPCError:
        # Nobody can tell.  A process that is left running can still be found again.
        return False
    return status not in (
        WorkflowExecutionStatus.RUNNING,
        WorkflowExecutionStatus.CONTINUED_AS_NEW,
    )
