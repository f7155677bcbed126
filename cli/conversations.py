"""The client's side of conversations: keep in the store first, then tell the engine.

A message is durable before anybody is asked to act on it, and carries its own id, so
sending it again is always safe.  A conversation whose workflow is gone starts again
from what the store knows.
"""

import os
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from temporalio.client import Client, WorkflowHandle

from activities.configuration.locations import Roots, host_id
from activities.errors import (
    AutolithError,
    ConversationError,
    Undelivered,
    UnknownRequestError,
)
from activities.store import conversations, messages, requests, turns
from activities.store.conversations import ConversationRecord
from activities.store.database import Database
from cli.choice import Choice, default_model
from cli.engine import Engine
from cli.starting import ask_started
from cli.workspaces import digest_of
from workflows.contracts.conversation import (
    Cancellation,
    CancellationReceipt,
    ConversationStart,
    ConversationState,
    ConversationStatus,
    Decision,
    Delivery,
    Receipt,
    Reconfiguration,
    StatusQuery,
    Submission,
)
from workflows.contracts.permission import Answer, PermissionMode
from workflows.conversation import ConversationWorkflow
from workflows.policy import bounds, identity, timeouts

T = TypeVar("T")

RPC_TIMEOUT = timeouts.HEARTBEAT


class Conversations:
    """Every conversation of one store, spoken to through one engine."""

    def __init__(self, database: Database, engine: Engine, roots: Roots) -> None:
        self.database = database
        self._engine = engine
        self._roots = roots

    async def create(self, workspace: Path) -> ConversationRecord:
        """Write down a new conversation that works in *workspace*."""
        now = time.time()
        record = ConversationRecord(
            id=conversations.new_id(),
            created=now,
            active=now,
            workspace=str(workspace),
            host=host_id(self._roots.state),
        )
        await self.database.write(lambda tx: conversations.create(tx, record))
        return record

    async def find(self, abbreviation: str) -> ConversationRecord:
        """Return the conversation that *abbreviation* names.

        Raises:
            UnknownConversationError: there is none.
            AmbiguousConversationError: there are several.
        """
        return await self.database.read(lambda tx: conversations.find(tx, abbreviation))

    async def keep(
        self, record: ConversationRecord, text: str, delivery: Delivery = Delivery.QUEUE
    ) -> str:
        """Make *text* durable and return its message id.

        Raises:
            ConversationError: it is empty or too long.
        """
        if not text.strip():
            raise ConversationError("The message is empty")
        if len(text) > bounds.MESSAGE_CHARACTERS:
            raise ConversationError(
                f"The message has {len(text):,} characters; "
                f"at most {bounds.MESSAGE_CHARACTERS:,} can be sent at once"
            )
        message = uuid.uuid4().hex
        await self.database.write(
            lambda tx: messages.keep(tx, record.id, message, text, delivery=delivery.value)
        )
        return message

    async def submit(
        self,
        record: ConversationRecord,
        message: str,
        *,
        delivery: Delivery = Delivery.QUEUE,
        answerable: bool = True,
        choice: Choice | None = None,
        is_new: bool = False,
    ) -> Receipt:
        """Have the engine take a kept message and return its receipt.

        A conversation that is not new is configured first if there is a *choice*.

        Raises:
            Undelivered: it did not, but the message is kept and can be sent again.
        """
        choice = choice or Choice()
        try:
            if not is_new and not choice.is_empty:
                await self.configure(record, choice)
            start = await self._start(record, choice)
            submission = Submission(
                command="submit",
                conversation=record.id,
                message=message,
                delivery=delivery,
                answerable=answerable,
                turns=start.state.turns,
            )
            await self._engine.agree_on_environment()
            return await ask_started(
                self._engine,
                start,
                lambda client, operation: client.execute_update_with_start_workflow(
                    ConversationWorkflow.submit,
                    submission,
                    start_workflow_operation=operation,
                    id=message,
                    rpc_timeout=RPC_TIMEOUT,
                ),
            )
        except AutolithError as error:
            raise Undelivered(f"{error}; {how_to_resend(record, message)}") from error

    async def configure(self, record: ConversationRecord, choice: Choice) -> ConversationStatus:
        """Change what later turns of a conversation use."""
        change = Reconfiguration(
            command="configure",
            conversation=record.id,
            id=uuid.uuid4().hex,
            model=choice.model,
            effort=choice.effort,
            mode=choice.mode,
        )
        start = await self._start(record, choice)
        return await ask_started(
            self._engine,
            start,
            lambda client, operation: client.execute_update_with_start_workflow(
                ConversationWorkflow.configure,
                change,
                start_workflow_operation=operation,
                id=change.id,
                rpc_timeout=RPC_TIMEOUT,
            ),
        )

    async def cancel(
        self,
        record: ConversationRecord,
        *,
        turn: int | None = None,
        job: str | None = None,
        hold_queue: bool = False,
    ) -> CancellationReceipt:
        """Cancel the running turn, or one job, and return what was found.

        Raises:
            ConversationError: the conversation is not running.
        """
        cancellation = Cancellation(
            command="cancel",
            conversation=record.id,
            id=uuid.uuid4().hex,
            turn=turn,
            job=job,
            hold_queue=hold_queue,
        )
        return await self._update(
            record,
            lambda handle: handle.execute_update(
                ConversationWorkflow.cancel,
                cancellation,
                id=cancellation.id,
                rpc_timeout=RPC_TIMEOUT,
            ),
        )

    async def decide(self, record: ConversationRecord, request: str, answer: Answer) -> None:
        """Answer an open question.

        Raises:
            UnknownRequestError: it is not open.
        """
        decision = Decision(
            command="decide", conversation=record.id, request=request, answer=answer
        )
        # One id for one attempt to answer: the update is repeated, the answer is not.
        update = uuid.uuid4().hex
        receipt = await self._update(
            record,
            lambda handle: handle.execute_update(
                ConversationWorkflow.decide, decision, id=update, rpc_timeout=RPC_TIMEOUT
            ),
        )
        if not receipt.accepted:
            raise UnknownRequestError(f"Question {request} of {record.id} is not open")

    async def status(self, record: ConversationRecord) -> ConversationStatus:
        """Return where a conversation stands, from the engine.

        Raises:
            ConversationError: the conversation is not running.
        """
        query = StatusQuery(command="status", conversation=record.id)
        return await self._update(
            record,
            lambda handle: handle.query(
                ConversationWorkflow.status, query, rpc_timeout=RPC_TIMEOUT
            ),
        )

    def listen(self, on_waiting: Callable[[str], None]) -> None:
        """Tell *on_waiting* from now on why the engine does not answer."""
        self._engine.on_waiting = on_waiting

    async def engine(self, request: Callable[[Client], Awaitable[T]]) -> T:
        """Make any other repeatable *request* of the engine."""
        return await self._engine.ask(request)

    async def _update(
        self,
        record: ConversationRecord,
        request: Callable[[WorkflowHandle[ConversationWorkflow, None]], Awaitable[T]],
    ) -> T:
        workflow = identity.conversation(record.id)
        return await self._engine.ask(
            lambda client: request(
                client.get_workflow_handle_for(ConversationWorkflow.run, workflow)
            )
        )

    async def _start(self, record: ConversationRecord, choice: Choice) -> ConversationStart:
        """Return how the conversation starts, should its workflow not run (any more)."""
        newest, model = await self.database.read(
            lambda tx: (turns.newest(tx, record.id), requests.last_model(tx, record.id))
        )
        return ConversationStart(
            conversation=record.id,
            host=record.host,
            model=choice.model or model or default_model(os.environ),
            effort=choice.effort,
            mode=choice.mode or PermissionMode.ASK,
            workspace_digest=digest_of(record.workspace, self._roots),
            state=ConversationState(turns=newest),
        )


def how_to_resend(record: ConversationRecord, message: str) -> str:
    """Say that a message is kept, and how it is sent again."""
    return (
        f"the message is kept as {message}: "
        f"send it with 'autolith tell {record.id} --message {message}'"
    )
