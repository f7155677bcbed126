"""A client asks again until it is answered, and never for ever in vain."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.configuration.locations import Roots
from activities.errors import ConversationError, ServerUnreachableError
from cli.engine import Engine
from tests.cli.command import json_lines, one_line
from tests.cli.running import Running
from worker.connection import connect

QUEUE = "cli-engine"


@workflow.defn
class Turnstile:
    """Turns people away, as a conversation does that continues as new."""

    def __init__(self) -> None:
        self._is_open = False
        self._passed: list[str] = []

    @workflow.run
    async def run(self) -> None:
        """Stay open."""
        await workflow.wait_condition(lambda: False)

    @workflow.update
    def enter(self, name: str) -> list[str]:
        """Let *name* in and say who is in."""
        self._passed.append(name)
        return self._passed

    @enter.validator
    def _check(self, name: str) -> None:
        if name == "stranger":
            raise ApplicationError("Strangers stay outside", type="misdirected")
        if name == "patient" and not self._is_open:
            raise ApplicationError("not now", type="draining")

    @workflow.signal
    def open(self) -> None:
        """Let the patient in from now on."""
        self._is_open = True


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    """Roots of their own, with a key of their own."""
    own = Roots.of({"HOME": str(tmp_path)})
    own.create()
    return own


@pytest.fixture
async def address(dev_server: WorkflowEnvironment) -> str:
    """Where a Temporal server listens."""
    return dev_server.client.service_client.config.target_host


@pytest.fixture
async def client(address: str, roots: Roots) -> Client:
    """A client with the same key."""
    return await connect(address, roots)


@pytest.fixture
async def turnstile(client: Client) -> AsyncIterator[WorkflowHandle[Turnstile, None]]:
    """A turnstile that no worker serves yet."""
    handle = await client.start_workflow(Turnstile.run, id="turnstile", task_queue=QUEUE)
    yield handle
    await handle.terminate()


def engine(address: str, roots: Roots, heard: list[str], patience: float | None = None) -> Engine:
    """Return an engine whose waiting is heard."""
    return Engine(roots, address, patience=patience, on_waiting=heard.append)


def serving(client: Client) -> Worker:
    """Return a worker of the turnstile."""
    return Worker(
        client,
        task_queue=QUEUE,
        workflows=[Turnstile],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )


async def test_a_request_waits_for_a_worker_and_says_so(
    address: str, roots: Roots, client: Client, turnstile: WorkflowHandle[Turnstile, None]
) -> None:
    """It is made again under its id, and takes effect once."""
    heard: list[str] = []
    own = engine(address, roots, heard)
    await own.ask(_health)
    asking = asyncio.create_task(own.ask(lambda c: _enter(c, "first")))
    async with asyncio.timeout(60):
        while not any(heard):
            await asyncio.sleep(0.05)
    async with serving(client):
        assert await asking == ["first"]
        assert await own.ask(lambda c: _enter(c, "first")) == ["first"]
    assert heard[-1] == ""
    assert await turnstile.describe()


async def test_draining_is_asked_again_and_other_refusals_are_not(
    address: str, roots: Roots, client: Client, turnstile: WorkflowHandle[Turnstile, None]
) -> None:
    """A validator's word is final, unless it is draining."""
    own = engine(address, roots, [])
    async with serving(client):
        with pytest.raises(WorkflowUpdateFailedError):
            await _enter(client, "patient")
        asking = asyncio.create_task(own.ask(lambda c: _enter(c, "patient")))
        await turnstile.signal(Turnstile.open)
        assert await asking == ["patient"]
        with pytest.raises(ConversationError, match="Strangers stay outside"):
            await own.ask(lambda c: _enter(c, "stranger"))


async def test_patience_ends_with_a_line(
    address: str, roots: Roots, turnstile: WorkflowHandle[Turnstile, None]
) -> None:
    """A command without a screen does not wait for ever."""
    own = engine(address, roots, [], patience=0.5)
    with pytest.raises(ServerUnreachableError, match="The engine has not answered for"):
        await own.ask(lambda c: _enter(c, "nobody"))
    assert await turnstile.describe()


async def test_a_cancelled_wait_is_cancelled(
    address: str, roots: Roots, turnstile: WorkflowHandle[Turnstile, None]
) -> None:
    """The SDK would make a failed call of it, and the loop a new attempt."""
    heard: list[str] = []
    own = engine(address, roots, heard)
    await own.ask(_health)
    asking = asyncio.create_task(own.ask(lambda c: _enter(c, "nobody")))
    async with asyncio.timeout(60):
        while not any(heard):
            await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await turnstile.describe()


async def _health(client: Client) -> bool:
    return await client.service_client.check_health()


async def _enter(client: Client, name: str) -> list[str]:
    handle = client.get_workflow_handle("turnstile")
    return await handle.execute_update(Turnstile.enter, name, id=name)


async def _engine_of(running: Running) -> Client:
    address = running.status()["address"]
    return await connect(address, Roots.of(running.environ))


async def test_a_turn_ended_from_outside_ends_the_run(running: Running) -> None:
    """Status 1 and a line, not a wait for an event that nobody writes."""
    process = running.start("run", "endless", "--json")
    assert process.stdout is not None
    conversation = json_lines(process.stdout.readline())[0]["conversation"]
    while "attempt-started" not in process.stdout.readline():
        continue
    client = await _engine_of(running)
    await client.get_workflow_handle(f"turn:{conversation}:1").terminate()
    output, errors = await asyncio.to_thread(process.communicate, timeout=120)
    assert (process.returncode, errors) == (1, "")
    assert json_lines(output)[-1]["body"]["outcome"] == "failed"


async def test_a_conversation_that_is_gone_starts_again_from_the_store(running: Running) -> None:
    """Its run ends; the next message opens the next turn of the same conversation."""
    process = running.start("run", "endless", "--json")
    assert process.stdout is not None
    conversation = json_lines(process.stdout.readline())[0]["conversation"]
    while "attempt-started" not in process.stdout.readline():
        continue
    client = await _engine_of(running)
    await client.get_workflow_handle(f"conversation:{conversation}").terminate()
    output, _ = await asyncio.to_thread(process.communicate, timeout=120)
    assert json_lines(output)[-1]["kind"] == "turn-ended"
    assert process.returncode in (1, 130)
    line = one_line(await asyncio.to_thread(running.run, "cancel", conversation), status=1)
    assert line == "autolith: The conversation is not running"
    ended = await asyncio.to_thread(
        running.run, "run", "greet", "--conversation", conversation, "--json"
    )
    assert json_lines(ended.stdout)[0]["turn"] == 2
    assert running.outcomes(conversation)[1] == "completed"


def test_an_answer_that_cannot_be_written_is_a_failure(running: Running) -> None:
    """The turn itself is complete and can be shown."""
    with Path("/dev/full").open("w") as full:
        ended = running.run("run", "greet", stdout=full)
    assert one_line(ended, status=1) == "autolith: No space left on device"


def test_other_provider_settings_than_the_workers_are_refused(running: Running) -> None:
    """The message is kept; the running worker would send it elsewhere."""
    other = {"AUTOLITH_OPENAI_ENDPOINT": "http://127.0.0.1:9/v1"}
    line = one_line(running.run("run", "greet", environ=other), status=1)
    assert "The running worker was started with another AUTOLITH_OPENAI_ENDPOINT" in line
    assert "the message is kept as" in line
