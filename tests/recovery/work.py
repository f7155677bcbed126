"""A worker process to be killed: ``python -m tests.recovery.work ADDRESS QUEUE STATE``.

Its activity writes to ``STATE/attempts`` when it starts, and hangs for as long as
it is told to, so that nothing but a recovery can end it early.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Literal

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.converter import DataConverter
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.inflight import mark_output_started
from worker.journal import Journal, Journaling
from worker.payloads import data_converter
from worker.recovery import recover
from worker.sealing.gate import GatedRunner
from worker.sealing.keys import open_key_ring
from workflows.contracts.base import Contract

FAR_AWAY = timedelta(minutes=20)


class Stretch(Contract):
    """How the activity behaves in its first attempt; later ones end at once."""

    command: Literal["stretch"]
    speaks: bool = False


class Poke(Contract):
    """A signal's argument."""

    command: Literal["poke"]


class Ending(Contract):
    """How one attempt ended, as the workflow saw it."""

    kind: str
    details: tuple[dict[str, object], ...] = ()


class Endings(Contract):
    """All of them."""

    endings: tuple[Ending, ...] = ()


@activity.defn
async def stretch(order: Stretch) -> Ending:
    """Hang in the first attempt; return in any later one."""
    attempts = Path(os.environ["ATTEMPTS"])
    earlier = len(list(attempts.iterdir()))
    if order.speaks:
        mark_output_started()
        mark_output_started()
    (attempts / f"{activity.info().workflow_id}-{activity.info().activity_id}").touch()
    if earlier == 0:
        await asyncio.sleep(FAR_AWAY.total_seconds())
    return Ending(kind="done")


@workflow.defn(sandboxed=False)
class Stretching:
    """Repeats its activity until one attempt is done, and tells how each one ended."""

    def __init__(self) -> None:
        self._endings: list[Ending] = []

    @workflow.run
    async def run(self, order: Stretch) -> Endings:
        """Try until it works."""
        while not self._endings or self._endings[-1].kind != "done":
            self._endings.append(await self._attempt(order))
        return Endings(endings=tuple(self._endings))

    async def _attempt(self, order: Stretch) -> Ending:
        try:
            return await workflow.execute_activity(
                stretch,
                order,
                start_to_close_timeout=FAR_AWAY,
                heartbeat_timeout=FAR_AWAY,
                retry_policy=RetryPolicy(maximum_attempts=1),
            )
        except ActivityError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError):
                return Ending(kind=str(cause.type), details=tuple(cause.details))
            return Ending(kind=type(cause).__name__)


@workflow.defn(sandboxed=False)
class Waiting:
    """Waits in the cache of the worker that served it last."""

    def __init__(self) -> None:
        self._poked = False

    @workflow.run
    async def run(self, _order: Stretch) -> Endings:
        """Return when it was poked."""
        await workflow.wait_condition(lambda: self._poked)
        return Endings()

    @workflow.signal
    def poke(self, _poke: Poke) -> None:
        """Wake up."""
        self._poked = True


WORKFLOWS = (Stretching, Waiting)


def converter(state: Path) -> DataConverter:
    """Return the converter for the keys of *state*."""
    return data_converter(open_key_ring(state), state / "objects")


async def serve(address: str, queue: str, state: Path) -> None:
    """Serve *queue* and recover what earlier workers left."""
    client = await Client.connect(address, data_converter=converter(state))
    journal = Journal(state / "inflight")
    async with Worker(
        client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=[stretch],
        workflow_runner=GatedRunner(UnsandboxedWorkflowRunner()),
        unsandboxed_workflow_runner=GatedRunner(UnsandboxedWorkflowRunner()),
        interceptors=[Journaling(journal)],
        sticky_queue_schedule_to_start_timeout=FAR_AWAY,
    ):
        await recover(client, state / "inflight", queue)
        (state / f"ready-{os.getpid()}").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
