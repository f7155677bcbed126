"""Follow the turn of one message to its end, and never wait for an end that cannot come.

The events of the store tell everything.  Only when they stay silent is the engine
asked whether the turn still runs: it may have been terminated from outside.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.store import tail
from activities.store.conversations import ConversationRecord
from cli.conversations import RPC_TIMEOUT, Conversations
from workflows.contracts.event import Event, EventKind
from workflows.contracts.failure import FailureKind
from workflows.contracts.key import TurnKey
from workflows.contracts.turn import TurnOutcome
from workflows.policy import identity

ASK_AFTER = 3.0
"""How long the events may stay silent before the engine is asked."""
ABSENCES = 2
"""A turn that has just ended may still be writing its last event."""


async def follow_turn(
    conversations: Conversations,
    record: ConversationRecord,
    message: str,
    *,
    turn: int | None,
    cursor: int,
) -> AsyncGenerator[Event, None]:
    """Yield what concerns the turn of *message*; the last event is its ``turn-ended``.

    Raises:
        ServerUnreachableError: nothing happens, and the engine does not answer.
    """
    watch = _Watch(conversations, record)
    try:
        async with aclosing(tail.follow(conversations.database, record.id, cursor)) as events:
            async for event in events:
                if event is None:
                    if await watch.finds_nothing(turn):
                        yield _lost(record, turn)
                        return
                    continue
                watch.saw_something()
                if _opens(event, message):
                    turn = event.turn
                if _concerns(event, message, turn):
                    yield event
                if event.kind is EventKind.TURN_ENDED and event.turn == turn:
                    return
    finally:
        await watch.close()


class _Watch:
    """Asks the engine, beside the reading of events, whether there is something to wait for."""

    def __init__(self, conversations: Conversations, record: ConversationRecord) -> None:
        self._conversations = conversations
        self._record = record
        self._silent_since = time.monotonic()
        self._question: asyncio.Task[bool] | None = None
        self._absences = 0

    def saw_something(self) -> None:
        """Start the patience anew."""
        self._silent_since = time.monotonic()
        self._absences = 0

    async def finds_nothing(self, turn: int | None) -> bool:
        """Return whether the engine has said often enough that nothing runs."""
        if self._question is None:
            if time.monotonic() - self._silent_since >= ASK_AFTER:
                self._question = asyncio.create_task(self._runs(turn))
            return False
        if not self._question.done():
            return False
        runs = await self._question
        self._question = None
        self._silent_since = time.monotonic()
        self._absences = 0 if runs else self._absences + 1
        return self._absences >= ABSENCES

    async def close(self) -> None:
        """Stop asking."""
        if self._question is not None:
            self._question.cancel()
            await asyncio.wait({self._question})

    async def _runs(self, turn: int | None) -> bool:
        conversation = self._record.id
        workflow = identity.conversation(conversation)
        if turn is not None:
            workflow = identity.turn(TurnKey(conversation=conversation, turn=turn))
        return await self._conversations.engine(lambda client: _is_open(client, workflow))


async def _is_open(client: Client, workflow: str) -> bool:
    try:
        found = await client.get_workflow_handle(workflow).describe(rpc_timeout=RPC_TIMEOUT)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return found.status is WorkflowExecutionStatus.RUNNING


def _opens(event: Event, message: str) -> bool:
    return event.kind is EventKind.TURN_STARTED and event.body.get("message") == message


def _concerns(event: Event, message: str, turn: int | None) -> bool:
    if event.kind is EventKind.MESSAGE:
        return event.body.get("message") == message
    return event.turn == turn if event.turn else turn is not None


def _lost(record: ConversationRecord, turn: int | None) -> Event:
    """Return the end of a turn that ended without a word."""
    what = "turn" if turn else "conversation"
    body = {
        "outcome": TurnOutcome.FAILED.value,
        "failure": FailureKind.INTERNAL.value,
        "message": f"the {what} was ended from outside",
    }
    return Event(
        conversation=record.id,
        seq=0,
        turn=turn or 0,
        kind=EventKind.TURN_ENDED,
        at=time.time(),
        body=body,
    )
