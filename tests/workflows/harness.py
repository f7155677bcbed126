"""A conversation under test: real server, real workflows, scripted ports."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.ports import ScriptedProvider, ScriptedTools, ScriptedTranscript
from worker.registry import Ports, build_workers
from workflows.contracts.conversation import (
    Cancellation,
    CancellationReceipt,
    ConversationStart,
    ConversationStatus,
    Decision,
    DecisionReceipt,
    Delivery,
    Receipt,
    StatusQuery,
    Submission,
)
from workflows.contracts.permission import Answer, PermissionMode
from workflows.conversation import ConversationWorkflow
from workflows.policy import identity, queues, search

DEADLINE_SECONDS = 30
RECORDED_OF_A_KIND = 2


@dataclass
class Conversation:
    """A conversation and everything a client may ask of it."""

    environment: WorkflowEnvironment
    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    tools: ScriptedTools = field(default_factory=ScriptedTools)
    transcript: ScriptedTranscript = field(default_factory=ScriptedTranscript)
    id: str = field(default_factory=lambda: uuid4().hex[:8])
    recordings: ClassVar[Path | None] = None
    """Where ``--record-histories`` keeps what a test has run."""

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[None]:
        """Serve until the block exits."""
        ports = Ports(self.provider, self.tools, self.transcript)
        client = self.environment.client
        queue = queues.SHARED
        workers = build_workers(
            client, ports, host=self.id, shared=f"{queue}-{self.id}", fail_on=(Exception,)
        )
        async with AsyncExitStack() as stack:
            for worker in workers:
                await stack.enter_async_context(worker)
            yield
        if self.recordings is not None:
            await record(client, self, self.recordings)

    @property
    def handle(self) -> "WorkflowHandle[ConversationWorkflow, None]":
        """The conversation's workflow."""
        return self.environment.client.get_workflow_handle_for(
            ConversationWorkflow.run, identity.conversation(self.id)
        )

    async def start(self, start: ConversationStart | None = None) -> None:
        """Start the conversation."""
        default = ConversationStart(
            conversation=self.id, host=self.id, model="scripted", mode=PermissionMode.FULL
        )
        await self.environment.client.start_workflow(
            ConversationWorkflow.run,
            start or default,
            id=identity.conversation(self.id),
            task_queue=f"{queues.SHARED}-{self.id}",
            search_attributes=search.attributes("conversation", self.id),
        )

    async def submit(self, message: str, delivery: Delivery = Delivery.QUEUE) -> Receipt:
        """Submit a message, again while the conversation continues as new."""
        submission = Submission(
            command="submit", conversation=self.id, message=message, delivery=delivery
        )
        while True:
            try:
                return await self.handle.execute_update(
                    ConversationWorkflow.submit, submission, id=message
                )
            except WorkflowUpdateFailedError as error:
                if getattr(error.cause, "type", "") != "draining":
                    raise
                await asyncio.sleep(0.05)

    async def cancel(self, *, job: str | None = None, hold: bool = False) -> CancellationReceipt:
        """Cancel the running turn, or a job."""
        cancellation = Cancellation(
            command="cancel", conversation=self.id, id=uuid4().hex, job=job, hold_queue=hold
        )
        return await self.handle.execute_update(ConversationWorkflow.cancel, cancellation)

    async def decide(self, request: str, answer: Answer) -> DecisionReceipt:
        """Answer a question."""
        decision = Decision(command="decide", conversation=self.id, request=request, answer=answer)
        return await self.handle.execute_update(ConversationWorkflow.decide, decision)

    async def status(self) -> ConversationStatus:
        """Ask where the conversation stands."""
        query = StatusQuery(command="status", conversation=self.id)
        return await self.handle.query(ConversationWorkflow.status, query)

    async def until(self, fact: Callable[[ConversationStatus], bool]) -> ConversationStatus:
        """Wait until *fact* holds of the status."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not fact(status := await self.status()):
                await asyncio.sleep(0.02)
        return status

    async def until_idle(self, turns: int) -> ConversationStatus:
        """Wait until *turns* turns have run and none runs."""
        return await self.until(lambda status: status.turns >= turns and status.running is None)


async def record(client: Client, conversation: Conversation, into: Path) -> None:
    """Keep the histories of a conversation's workflows under the running test's name."""
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
    name = test.removeprefix("test_")
    query = f"AutolithConversation = '{conversation.id}'"
    counts: Counter[str] = Counter()
    async for found in client.list_workflows(query):
        kind = found.id.partition(":")[0]
        counts[kind] += 1
        if counts[kind] > RECORDED_OF_A_KIND:
            continue
        handle = client.get_workflow_handle(found.id, run_id=found.run_id)
        history = await handle.fetch_history()
        path = into / f"{name}.{kind}-{counts[kind]}.json"
        path.write_text(history.to_json())
        path.with_suffix(".id").write_text(f"{found.id}\n")
