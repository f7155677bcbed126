"""Figures of histories: how many bytes a turn leaves, whatever the conversation holds."""

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import Client

from tests.bench.figure import Figure, at_most
from tests.bench.stage import Stage
from workflows.contracts.key import TurnKey
from workflows.policy import identity

TURNS = 5
MESSAGE = "x" * 125_000


async def growth(stage: Stage) -> list[Figure]:
    """Bytes of history per one-tool turn, with 1 KB and with 1 MB of transcript."""
    small = await _bytes_per_turn(stage, messages=0)
    large = await _bytes_per_turn(stage, messages=8)
    return [
        at_most("history_per_turn", small / 1000, "KB", 12),
        at_most("history_growth", large / small, "1 MB / 1 KB", 1.05),
    ]


async def size_of(client: Client, workflow: str) -> int:
    """Return the bytes of every run of *workflow*, following continue-as-new backwards."""
    total, run = 0, ""
    while True:
        execution = WorkflowExecution(workflow_id=workflow, run_id=run)
        request = DescribeWorkflowExecutionRequest(namespace="default", execution=execution)
        found = await client.workflow_service.describe_workflow_execution(request)
        info = found.workflow_execution_info
        total += info.history_size_bytes
        first = await client.get_workflow_handle(
            workflow, run_id=info.execution.run_id
        ).fetch_history()
        started = first.events[0]
        assert started.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
        run = started.workflow_execution_started_event_attributes.continued_execution_run_id
        if not run:
            return total


async def _bytes_per_turn(stage: Stage, *, messages: int) -> float:
    record = await stage.create()
    await stage.turn(record, "one tool", is_new=True)
    for _ in range(messages):
        await stage.turn(record, MESSAGE)
    before = await size_of(stage.plain, identity.conversation(record.id))
    for _ in range(TURNS):
        await stage.turn(record, "one tool")
    grown = await size_of(stage.plain, identity.conversation(record.id)) - before
    turns = [
        await size_of(
            stage.plain,
            identity.turn(TurnKey(conversation=record.id, turn=2 + messages + number)),
        )
        for number in range(TURNS)
    ]
    return (grown + sum(turns)) / TURNS
