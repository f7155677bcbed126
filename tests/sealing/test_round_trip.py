"""Every kind of payload reaches its place through the seal, and no reader without the key."""

import asyncio
import uuid
from collections.abc import Sequence

import pytest
from google.protobuf.message import Message
from temporalio.api.enums.v1 import EventType
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateStage,
)
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError, ChildWorkflowError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.sealing.conftest import House
from tests.sealing.contracts import CANARY, Ask, Look, Tell, Word
from tests.sealing.stranger import Stranger
from tests.sealing.workflows import ACTIVITIES, WORKFLOWS, Vault
from worker.payloads import KEPT_OUTSIDE

LOOK = Look(command="look", text=f"{CANARY} looked")


def ask(text: str, filler: str = "") -> Ask:
    """Return an update's argument."""
    return Ask(command="ask", text=text, filler=filler)


def tell(text: str) -> Tell:
    """Return a signal's argument."""
    return Tell(command="tell", text=text)


async def test_updates_activities_and_their_results_round_trip(house: House) -> None:
    """A validated update runs an activity and answers with its result."""
    vault = await house.vault()

    assert await vault.execute_update(Vault.ask, ask("hello")) == Word(text="hello")


async def test_signals_queries_and_continued_runs_round_trip(house: House) -> None:
    """What was told survives continue-as-new and is returned in the end."""
    vault = await house.vault()
    await vault.signal(Vault.tell, tell("first"))
    await vault.signal(Vault.proceed, tell("continue"))
    async with asyncio.timeout(60):
        while (await latest(house, vault).describe()).run_id == vault.first_execution_run_id:
            await asyncio.sleep(0.05)

    assert (await latest(house, vault).query(Vault.look, LOOK)).text.startswith("first|")

    await latest(house, vault).signal(Vault.proceed, tell("close"))
    assert await latest(house, vault).result() == Word(text="first")


async def test_children_and_external_signals_round_trip(house: House) -> None:
    """A child is sealed for itself: start, signal and result."""
    vault = await house.vault()

    answer = await vault.execute_update(Vault.teach, ask("lesson"))

    assert answer == Word(text=f"{CANARY} child start lesson")


async def test_failures_of_activities_round_trip(house: House) -> None:
    """Type, message and details arrive as they were raised."""
    vault = await house.vault()

    answer = await vault.execute_update(Vault.stumble, ask("x"))

    assert answer.text == f"refused|{CANARY} message x|{CANARY} detail"


async def test_failures_of_children_round_trip(house: House) -> None:
    """Through the parent, which passes them on, to the client."""
    vault = await house.vault()

    with pytest.raises(WorkflowUpdateFailedError) as failed:
        await vault.execute_update(Vault.suffer, ask("x"))

    child = failed.value.cause
    assert isinstance(child, ChildWorkflowError)
    assert isinstance(child.cause, ApplicationError)
    assert child.cause.message == f"{CANARY} child failure"
    assert child.cause.details[0] == {"text": f"{CANARY} detail"}


async def test_a_rejected_update_says_why(house: House) -> None:
    """The validator's own type and message."""
    vault = await house.vault()

    with pytest.raises(WorkflowUpdateFailedError) as failed:
        await vault.execute_update(Vault.ask, ask("forbidden"))

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "forbidden"
    assert failed.value.cause.message == f"{CANARY} rejected"


async def test_what_the_sdk_itself_says_is_believed(house: House) -> None:
    """A signal to nobody fails with the SDK's own type."""
    vault = await house.vault()

    answer = await vault.execute_update(Vault.miss, ask("nobody"))

    assert answer.text.startswith("ExternalWorkflowExecutionNotFound: ")


async def test_what_the_server_says_about_an_update_is_believed(house: House) -> None:
    """A run that ends before it answers tells its client so, by type."""
    vault = await house.vault()
    update = await vault.start_update(
        Vault.depend, ask("unanswered"), wait_for_stage=WorkflowUpdateStage.ACCEPTED
    )

    await vault.terminate()

    with pytest.raises(WorkflowUpdateFailedError) as failed:
        await update.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "AcceptedUpdateCompletedWorkflow"


async def test_memo_and_summary_are_read_by_the_owner(house: House) -> None:
    """Those given at the start, and those that the workflow adds."""
    vault = await house.vault()
    await vault.execute_update(Vault.teach, ask("lesson"))

    description = await vault.describe()

    assert await description.memo() == {
        "note": f"{CANARY} memo",
        "more": f"{CANARY} upserted memo",
    }
    assert await description.static_summary() == f"{CANARY} start summary"
    child = await house.owner.get_workflow_handle(f"{vault.id}:pupil").describe()
    assert await child.memo() == {"note": f"{CANARY} child memo"}


async def test_a_large_payload_is_kept_outside_of_the_history(house: House) -> None:
    """The history holds references, the objects hold sealed bytes."""
    vault = await house.vault()
    filler = "".join(uuid.uuid4().hex for _ in range(4_000)) + CANARY

    answer = await vault.execute_update(Vault.ask, ask("large", filler))

    history = await Stranger(house.stranger, house.queue).history(vault.id)
    assert answer.filler == filler
    assert sum(event.ByteSize() for event in history) < KEPT_OUTSIDE
    kept = [path for path in house.objects.rglob("*") if path.is_file()]
    assert any(path.stat().st_size > KEPT_OUTSIDE for path in kept)
    assert not any(CANARY.encode() in path.read_bytes() for path in kept)


async def test_nothing_readable_is_stored(house: House) -> None:
    """Every kind of payload once; not one byte of any text in what the server tells."""
    vault = await house.vault()
    await exercise(vault)
    found = await fetched(house.stranger, house.queue, vault.id)

    assert kinds(found) >= EXERCISED
    assert readable(found) == []


async def test_the_search_would_find_what_is_readable(house: House) -> None:
    """The same workflows without the seal, searched in the same way."""
    queue = f"glass-{uuid.uuid4().hex}"
    address = house.owner.service_client.config.target_host
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    async with Worker(
        client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=ACTIVITIES,
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        glass = House(client, house.stranger, queue, house.objects, house.key_file)
        vault = await glass.vault(f"glass:{uuid.uuid4().hex}")
        await exercise(vault)
        found = await fetched(house.stranger, queue, vault.id)
        await vault.terminate()

    assert len(readable(found)) > len(EXERCISED)


EXERCISED = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
    EventType.EVENT_TYPE_TIMER_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
}


async def exercise(vault: WorkflowHandle[Vault, Word]) -> None:
    """Make every kind of payload occur, the last one in an activity that still runs."""
    await vault.signal(Vault.tell, tell(f"{CANARY} told"))
    await vault.execute_update(Vault.ask, ask(f"{CANARY} asked"))
    await vault.execute_update(Vault.stumble, ask(f"{CANARY} stumbled"))
    await vault.execute_update(Vault.teach, ask(f"{CANARY} taught"))
    for update, text in ((Vault.suffer, f"{CANARY} suffered"), (Vault.ask, "forbidden")):
        with pytest.raises(WorkflowUpdateFailedError):
            await vault.execute_update(update, ask(text))
    await vault.start_update(
        Vault.depend, ask("pending"), wait_for_stage=WorkflowUpdateStage.ACCEPTED
    )
    async with asyncio.timeout(60):
        while not await heartbeats(vault):
            await asyncio.sleep(0.05)


async def heartbeats(vault: WorkflowHandle[Vault, Word]) -> bool:
    """Tell whether the pending activity's heartbeat has arrived."""
    pending = (await vault.describe()).raw_description.pending_activities
    return any(activity.HasField("heartbeat_details") for activity in pending)


async def fetched(client: Client, queue: str, workflow: str) -> list[Message]:
    """Fetch what anybody can about *workflow* and its children."""
    stranger = Stranger(client, queue)
    answer = await stranger.query(workflow, "look", [])
    rejected = await stranger.update(workflow, "ask", [])
    related = [workflow, f"{workflow}:pupil", f"{workflow}:failing"]
    everything = [message for name in related for message in await stranger.everything(name)]
    return [answer, rejected, *everything]


def readable(messages: Sequence[Message]) -> list[Message]:
    """Return the messages in which a text can be read."""
    return [found for found in messages if CANARY.encode() in found.SerializeToString()]


def kinds(messages: Sequence[Message]) -> set[int]:
    """Return the kinds of events among *messages*."""
    return {getattr(message, "event_type", 0) for message in messages}


def latest(house: House, vault: WorkflowHandle[Vault, Word]) -> WorkflowHandle[Vault, Word]:
    """Return a handle for whichever run is the latest."""
    return house.owner.get_workflow_handle_for(Vault.run, vault.id)
