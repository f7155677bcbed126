"""A stranger sends what it likes: nothing is believed, and the conversation goes on."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateHandle,
    WorkflowUpdateStage,
)
from temporalio.exceptions import ApplicationError

from tests.sealing.conftest import House
from tests.sealing.contracts import Ask, Look, Word
from tests.sealing.forged import COMMAND, COMPLETING, EVERYTHING, payloads, plain
from tests.sealing.stranger import Stranger
from tests.sealing.workflows import Vault

DEADLINE = 60.0


@pytest.fixture
async def vault(house: House) -> AsyncIterator[WorkflowHandle[Vault, Word]]:
    """A vault that must be as it was when the test is over: working, and deaf to strangers."""
    vault = await house.vault()
    yield vault
    async with asyncio.timeout(DEADLINE):
        answer = await vault.execute_update(Vault.ask, Ask(command="ask", text="still here"))
        seen = await vault.query(Vault.look, Look(command="look"))
    assert answer == Word(text="still here")
    assert seen.text == ""
    assert await failed_tasks(house, vault.id) == 0


@pytest.fixture
async def stranger(house: House) -> Stranger:
    """Whoever reaches the port."""
    return Stranger(house.stranger, house.queue)


@pytest.mark.parametrize("what", EVERYTHING)
async def test_a_signal_that_is_not_ours_is_not_heard(
    house: House, stranger: Stranger, vault: WorkflowHandle[Vault, Word], what: str
) -> None:
    """It is dropped, whatever it carries."""
    before = await vault.query(Vault.look, Look(command="look"))

    await stranger.signal(vault.id, "tell", await payloads(house, stranger, vault.id, what))

    assert await vault.query(Vault.look, Look(command="look")) == before


@pytest.mark.parametrize("handler", ["ask", "steer"])
@pytest.mark.parametrize("what", EVERYTHING)
async def test_an_update_that_is_not_ours_is_rejected(
    house: House,
    stranger: Stranger,
    vault: WorkflowHandle[Vault, Word],
    what: str,
    handler: str,
) -> None:
    """With or without a validator; the answer tells the stranger nothing."""
    forged = await payloads(house, stranger, vault.id, what)

    outcome = await stranger.update(vault.id, handler, forged)

    assert outcome.HasField("failure")
    assert outcome.failure.message == "Encoded failure"
    assert "intruder" not in str(outcome)


@pytest.mark.parametrize("what", EVERYTHING)
async def test_a_query_that_is_not_ours_is_not_answered(
    house: House, stranger: Stranger, vault: WorkflowHandle[Vault, Word], what: str
) -> None:
    """It fails, and even the failure is sealed."""
    forged = await payloads(house, stranger, vault.id, what)

    answer = await stranger.query(vault.id, "look", forged)

    assert not answer.DESCRIPTOR.full_name.endswith("QueryWorkflowResponse")
    assert "intruder" not in str(answer)


@pytest.mark.parametrize("what", EVERYTHING)
async def test_a_start_that_is_not_ours_fails_for_good(
    house: House, stranger: Stranger, vault: WorkflowHandle[Vault, Word], what: str
) -> None:
    """It is over at once, instead of repeating its first task for ever."""
    intruder = f"intruder:{uuid.uuid4().hex}"
    forged = await payloads(house, stranger, vault.id, what)

    await stranger.start(intruder, "Vault", forged)

    assert await end_of(house, intruder) == "UnsealedPayload"


@pytest.mark.parametrize("what", [*COMPLETING, "another vault's signal", "another vault's start"])
async def test_a_result_that_is_not_ours_fails_the_attempt(
    house: House, stranger: Stranger, vault: WorkflowHandle[Vault, Word], what: str
) -> None:
    """The workflow hears of a failed activity, and decides."""
    update, activity = await depending(vault)
    forged = await payloads(house, stranger, vault.id, what)

    await stranger.complete(vault.id, activity, forged)

    async with asyncio.timeout(DEADLINE):
        assert await update.result() == Word(text="failed: UnsealedPayload")


@pytest.mark.filterwarnings("ignore::temporalio.workflow.UnfinishedUpdateHandlersWarning")
@pytest.mark.usefixtures("vault")
async def test_a_sealed_result_of_another_kind_ends_the_workflow_and_not_the_worker(
    house: House, stranger: Stranger
) -> None:
    """Replayed within its own workflow it opens, but it is not what the place expects."""
    victim = await house.vault()
    _, activity = await depending(victim)

    await stranger.complete(
        victim.id, activity, await payloads(house, stranger, victim.id, "this vault's start")
    )

    assert await end_of(house, victim.id) == "MalformedPayload"


@pytest.mark.parametrize(
    "kind", ["worker-lost", "UnsealedPayload", "AcceptedUpdateCompletedWorkflow"]
)
async def test_a_failure_that_is_not_ours_is_not_believed(
    stranger: Stranger, vault: WorkflowHandle[Vault, Word], kind: str
) -> None:
    """A stranger cannot say that the worker was lost, nor add its details."""
    update, activity = await depending(vault)
    failure = Failure(message="intruder")
    failure.application_failure_info.type = kind
    failure.application_failure_info.details.CopyFrom(
        Payloads(payloads=[plain({"kind": "worker-lost", "output_started": False})])
    )

    await stranger.fail(vault.id, activity, failure)

    expected = kind if kind == "AcceptedUpdateCompletedWorkflow" else "UnsealedPayload"
    async with asyncio.timeout(DEADLINE):
        assert await update.result() == Word(text=f"failed: {expected}")


@pytest.mark.parametrize("change", ["type", "details"])
async def test_a_replayed_failure_cannot_be_changed(
    stranger: Stranger, vault: WorkflowHandle[Vault, Word], change: str
) -> None:
    """Its type is sealed beside its text, and details that do not open spoil it."""
    await vault.execute_update(Vault.stumble, Ask(command="ask", text="x"))
    events = await stranger.history(vault.id)
    failure = next(
        event.activity_task_failed_event_attributes.failure
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
    )
    if change == "type":
        failure.application_failure_info.type = "worker-lost"
    else:
        failure.application_failure_info.details.payloads[0].data += b"x"
    update, activity = await depending(vault)

    await stranger.fail(vault.id, activity, failure)

    async with asyncio.timeout(DEADLINE):
        assert await update.result() == Word(text="failed: UnsealedPayload")


@pytest.mark.parametrize("what", ["plain", "a marked reference", "a reference to nothing"])
async def test_a_heartbeat_that_is_not_ours_changes_nothing(
    house: House, stranger: Stranger, vault: WorkflowHandle[Vault, Word], what: str
) -> None:
    """Even as the last heartbeat of an attempt that times out."""
    update, activity = await depending(vault, impatient=True)

    await stranger.heartbeat(vault.id, activity, await payloads(house, stranger, vault.id, what))

    async with asyncio.timeout(DEADLINE):
        assert await update.result() == Word(text="timed out: 0")


async def test_an_unknown_signal_or_update_changes_nothing(
    stranger: Stranger, vault: WorkflowHandle[Vault, Word]
) -> None:
    """Names are not sealed, so they may be anything."""
    await stranger.signal(vault.id, "nonsense", [plain(COMMAND)])
    outcome = await stranger.update(vault.id, "nonsense", [plain(COMMAND)])

    assert outcome.HasField("failure")


async def depending(
    vault: WorkflowHandle[Vault, Word], *, impatient: bool = False
) -> tuple[WorkflowUpdateHandle[Word], str]:
    """Let *vault* wait for an activity that anybody may complete by its id."""
    activity = f"{'impatient' if impatient else 'patient'}-{uuid.uuid4().hex}"
    update = await vault.start_update(
        Vault.depend,
        Ask(command="ask", text=activity),
        wait_for_stage=WorkflowUpdateStage.ACCEPTED,
    )
    async with asyncio.timeout(DEADLINE):
        while not await has_heartbeat(vault):
            await asyncio.sleep(0.02)
    return update, activity


async def has_heartbeat(vault: WorkflowHandle[Vault, Word]) -> bool:
    """Tell whether the pending activity's own heartbeat has arrived."""
    pending = (await vault.describe()).raw_description.pending_activities
    return any(activity.HasField("heartbeat_details") for activity in pending)


async def end_of(house: House, workflow: str) -> str:
    """Return the type of the failure that ended *workflow*, which never repeated a task."""
    handle = house.owner.get_workflow_handle(workflow, result_type=Word)
    async with asyncio.timeout(DEADLINE):
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
    assert (await handle.describe()).status is WorkflowExecutionStatus.FAILED
    assert await failed_tasks(house, workflow) == 0
    assert isinstance(failed.value.cause, ApplicationError)
    return str(failed.value.cause.type)


async def failed_tasks(house: House, workflow: str) -> int:
    """Count the workflow tasks of *workflow* that failed."""
    events = (await house.owner.get_workflow_handle(workflow).fetch_history()).events
    return sum(event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED for event in events)
