"""A worker is killed in the middle; the next one says so, and the workflow goes on."""

import asyncio
import socket
import sysconfig
import uuid
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.recovery.conftest import Site, until
from tests.recovery.test_journal import die_in_the_middle
from tests.recovery.work import Poke, Stretch, Stretching, Waiting, converter
from worker.journal import take_abandoned
from worker.recovery import recover
from workflows.contracts.failure import FailureKind

POKE = Poke(command="poke")
FIRST_TASK = ("execution started", "task scheduled", "task started", "task completed")


@pytest.mark.parametrize("speaks", [False, True])
async def test_a_killed_attempt_is_reported_as_lost(site: Site, speaks: bool) -> None:
    """With what it had produced; every timeout is minutes away and explains nothing."""
    worker = await site.worker()
    handle = await site.client.start_workflow(
        Stretching.run,
        Stretch(command="stretch", speaks=speaks),
        id=f"stretching:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    await until(lambda: len(list(site.attempts.iterdir())) == 1)

    site.kill(worker)
    await site.worker()
    async with asyncio.timeout(60):
        endings = (await handle.result()).endings

    assert [ending.kind for ending in endings] == ["worker-lost", "done"]
    details = endings[0].details[0]
    assert details["kind"] == FailureKind.WORKER_LOST.value
    assert details.get("output_started", False) is speaks


async def test_a_workflow_that_ran_nothing_is_freed_too(site: Site) -> None:
    """Its next task goes to the common queue, not to the one that nobody polls any more."""
    worker = await site.worker()
    handle = await site.client.start_workflow(
        Waiting.run,
        Stretch(command="stretch"),
        id=f"waiting:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    async with asyncio.timeout(60):
        while len((await handle.fetch_history()).events) < len(FIRST_TASK):
            await asyncio.sleep(0.02)

    site.kill(worker)
    await site.worker()
    await handle.signal(Waiting.poke, POKE)
    async with asyncio.timeout(60):
        await handle.result()

    queues = [
        event.workflow_task_scheduled_event_attributes.task_queue.name
        for event in (await handle.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
    ]
    assert queues == [site.queue, site.queue]


async def test_the_journal_of_the_dead_is_removed(site: Site) -> None:
    """What remains is the successor's own, with the attempt that runs now."""
    worker = await site.worker()
    await site.client.start_workflow(
        Stretching.run,
        Stretch(command="stretch"),
        id=f"stretching:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    await until(lambda: len(list(site.attempts.iterdir())) == 1)
    before = {path.name for path in site.inflight.iterdir() if path.is_dir()}

    site.kill(worker)
    await site.worker()

    after = {path.name for path in site.inflight.iterdir() if path.is_dir()}
    assert len(before) == len(after) == 1
    assert before.isdisjoint(after)


async def test_a_recovery_leaves_the_attempts_of_the_living_alone(site: Site) -> None:
    """Two more workers recover while the first one works; its attempt goes on."""
    first = await site.worker()
    handle = await site.client.start_workflow(
        Stretching.run,
        Stretch(command="stretch"),
        id=f"stretching:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    await until(lambda: len(list(site.attempts.iterdir())) == 1)

    reported = await asyncio.gather(
        recover(site.client, site.inflight, site.queue),
        recover(site.client, site.inflight, site.queue),
    )

    assert sum(reported) == 0
    assert first.poll() is None
    description = await handle.describe()
    pending = description.raw_description.pending_activities
    assert len(pending) == 1
    assert pending[0].attempt == 1
    assert len(list(site.attempts.iterdir())) == 1


async def test_a_server_that_is_away_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """It may be restarting too; attempts that it does not know are dropped."""
    port = free_port()
    async with await dev_server(port):
        client = await Client.connect(f"127.0.0.1:{port}", data_converter=converter(tmp_path))
    die_in_the_middle(tmp_path / "inflight")

    recovery = asyncio.create_task(recover(client, tmp_path / "inflight", "nobody"))
    async with await dev_server(port):
        assert await recovery == 4

    assert [path for path in (tmp_path / "inflight").iterdir() if path.is_dir()] == []


async def test_a_recovery_that_is_cut_off_is_repeated(site: Site) -> None:
    """The journal stays until everything in it has been reported."""
    worker = await site.worker()
    handle = await site.client.start_workflow(
        Stretching.run,
        Stretch(command="stretch"),
        id=f"stretching:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    await until(lambda: len(list(site.attempts.iterdir())) == 1)
    site.kill(worker)
    for journal in take_abandoned(site.inflight):
        assert len(journal.attempts()) == 1
        journal.release()  # as the kernel does when a successor dies in the middle

    await site.worker()
    async with asyncio.timeout(60):
        endings = (await handle.result()).endings

    assert [ending.kind for ending in endings] == ["worker-lost", "done"]


async def dev_server(port: int) -> WorkflowEnvironment:
    """Start a server at *port*."""
    binary = Path(sysconfig.get_path("scripts")) / "temporal"
    return await WorkflowEnvironment.start_local(
        ip="127.0.0.1", port=port, dev_server_existing_path=str(binary)
    )


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_an_attempt_that_has_ended_meanwhile_is_dropped(site: Site) -> None:
    """Its workflow is gone; the journal is removed all the same."""
    worker = await site.worker()
    handle = await site.client.start_workflow(
        Stretching.run,
        Stretch(command="stretch"),
        id=f"stretching:{uuid.uuid4().hex}",
        task_queue=site.queue,
    )
    await until(lambda: len(list(site.attempts.iterdir())) == 1)
    site.kill(worker)
    await handle.terminate()

    assert await recover(site.client, site.inflight, site.queue) == 1
    assert [path for path in site.inflight.iterdir() if path.is_dir()] == []
