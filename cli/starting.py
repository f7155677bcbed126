"""Ask a conversation something, and start its workflow if it does not run (any more)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy

from cli.engine import Engine
from workflows.contracts.conversation import ConversationStart
from workflows.conversation import ConversationWorkflow
from workflows.policy import identity, queues, search, timeouts

T = TypeVar("T")
StartOperation = WithStartWorkflowOperation[ConversationWorkflow, None]


async def ask_started(
    engine: Engine,
    start: ConversationStart,
    request: Callable[[Client, StartOperation], Awaitable[T]],
) -> T:
    """Make *request* together with a start that does nothing while the conversation runs."""

    async def ask(client: Client) -> T:
        operation = _operation(start)
        started = asyncio.ensure_future(operation.workflow_handle())
        try:
            return await request(client, operation)
        finally:
            # The SDK reports a failure here too; unheard, it would end an open session.
            started.cancel()
            await asyncio.wait({started})

    return await engine.ask(ask)


def _operation(start: ConversationStart) -> StartOperation:
    """Return a start that does nothing while the conversation runs; one per call."""
    return WithStartWorkflowOperation(
        ConversationWorkflow.run,
        start,
        id=identity.conversation(start.conversation),
        task_queue=queues.SHARED,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        task_timeout=timeouts.WORKFLOW_TASK,
        search_attributes=search.attributes(
            "conversation", start.conversation, workspace=start.workspace_digest
        ),
        static_summary=f"conversation {start.conversation}",
    )
