"""Where conversations stand, read from the engine in one question."""

from enum import StrEnum

from temporalio.client import Client

from workflows.policy import search

OPEN_ONES = (
    'ExecutionStatus = "Running" AND WorkflowType IN ("ConversationWorkflow", "TurnWorkflow")'
)


class Standing(StrEnum):
    """What a conversation does at the moment."""

    RUNNING = "running"
    WAITING = "waiting"
    """Somebody has to answer a question."""
    IDLE = "idle"
    CLOSED = "closed"
    """No workflow serves it; the next message starts it again."""
    ASLEEP = "asleep"
    """The runtime does not run; what was going on continues with it."""


async def standings(client: Client) -> dict[str, Standing]:
    """Return the standing of every conversation that the engine serves."""
    found: dict[str, Standing] = {}
    async for execution in client.list_workflows(OPEN_ONES):
        attributes = execution.typed_search_attributes
        conversation = attributes.get(search.CONVERSATION)
        if conversation is None:
            continue
        standing = Standing.IDLE
        if execution.workflow_type == "TurnWorkflow":
            standing = Standing.RUNNING
        elif attributes.get(search.STATE) == search.WAITING:
            standing = Standing.WAITING
        found[conversation] = max(found.get(conversation, standing), standing, key=_weight)
    return found


def _weight(standing: Standing) -> int:
    """Order by how much a person wants to know it: a waiting turn also runs."""
    return (Standing.IDLE, Standing.RUNNING, Standing.WAITING).index(standing)
