"""``autolith run``: one turn without a terminal."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from activities.errors import AutolithError, ConfigurationError
from activities.store import events
from activities.store.conversations import ConversationRecord
from cli import options
from cli.application import Application
from cli.choice import Choice
from cli.conversations import Conversations, how_to_resend
from cli.failures import FAILURE, INTERRUPTED, SUCCESS, complain
from cli.following import follow_turn
from cli.interruption import Interruption
from cli.turn_output import JsonLines, PlainAnswer, TurnOutput
from cli.workspaces import workspace_at
from workflows.contracts.conversation import Receipt
from workflows.contracts.event import Event, EventKind
from workflows.contracts.permission import PermissionMode
from workflows.contracts.turn import TurnOutcome

STANDARD_INPUT = "-"
RETRY_CANCEL = 0.1
STATUSES = {
    TurnOutcome.COMPLETED: SUCCESS,
    TurnOutcome.FAILED: FAILURE,
    TurnOutcome.CANCELLED: INTERRUPTED,
}


@dataclass(frozen=True)
class Order:
    """What one ``autolith run`` was asked to do."""

    text: str
    workspace: str | None
    conversation: str | None
    choice: Choice


@click.command()
@click.argument("prompt", required=False)
@click.option("--file", metavar="FILE", help="Read the prompt from FILE.")
@options.model
@options.workspace
@click.option("--conversation", metavar="ID", help="Continue this conversation.")
@options.permissions
@options.as_json
@click.pass_obj
def run(
    app: Application,
    prompt: str | None,
    file: str | None,
    model: str | None,
    workspace: str | None,
    conversation: str | None,
    permissions: str | None,
    *,
    as_json: bool,
) -> int:
    """Run one turn with PROMPT and print the answer.

    PROMPT may be - for standard input.  What would need permission is denied unless
    --permissions says otherwise.  Exit status: 0 completed, 1 failed, 130 cancelled.
    """
    if conversation and workspace:
        raise click.UsageError("--workspace is for new conversations")
    order = Order(
        text=read_prompt(prompt, file),
        workspace=workspace,
        conversation=conversation,
        choice=Choice(model, mode=PermissionMode(permissions) if permissions else None),
    )
    output: TurnOutput = JsonLines() if as_json else PlainAnswer(app.errors)
    with app.conversations() as conversations:
        return asyncio.run(_run(conversations, order, output))


def read_prompt(prompt: str | None, file: str | None) -> str:
    """Return the prompt's text from wherever it was given.

    Raises:
        click.UsageError: it was given twice, or not at all.
        ConfigurationError: it is not UTF-8 text.
    """
    if prompt is not None and file is not None:
        raise click.UsageError("Give PROMPT or --file, not both")
    if file is not None and file != STANDARD_INPUT:
        return _decoded(Path(file).read_bytes(), file)
    if STANDARD_INPUT in (prompt, file) or (prompt is None and not sys.stdin.isatty()):
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if prompt is None:
        raise click.UsageError("Give PROMPT, --file, or text on standard input")
    return prompt


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name}: is not UTF-8 text ({error.reason})") from error


async def _run(conversations: Conversations, order: Order, output: TurnOutput) -> int:
    record = await _conversation(conversations, order)
    cursor = await conversations.database.read(lambda tx: events.last(tx, record.id))
    message = await conversations.keep(record, order.text)
    interruption = Interruption(f"the turn goes on: autolith attach {record.id}")
    with interruption.handled():
        try:
            receipt = await conversations.submit(
                record,
                message,
                answerable=False,
                choice=order.choice,
                is_new=order.conversation is None,
            )
        except asyncio.CancelledError:
            complain(f"interrupted; {how_to_resend(record, message)}")
            return INTERRUPTED
        interruption.has_turn = True
        output.receipt(record.id, receipt)
        turn = Turn(conversations, record, receipt, interruption)
        return await turn.follow(cursor, output)


async def _conversation(conversations: Conversations, order: Order) -> ConversationRecord:
    if order.conversation is None:
        return await conversations.create(workspace_at(order.workspace))
    return await conversations.find(order.conversation)


class Turn:
    """The turn of one message, followed to its end, or cancelled."""

    def __init__(
        self,
        conversations: Conversations,
        record: ConversationRecord,
        receipt: Receipt,
        interruption: Interruption,
    ) -> None:
        self._conversations = conversations
        self._record = record
        self._receipt = receipt
        self._interruption = interruption
        self._number = receipt.turn

    async def follow(self, cursor: int, output: TurnOutput) -> int:
        """Show the turn until it ends, and return the exit status."""
        cancelling = asyncio.create_task(self._cancel_when_asked())
        try:
            return await self._show(cursor, output)
        finally:
            cancelling.cancel()
            await asyncio.wait({cancelling})

    async def _show(self, cursor: int, output: TurnOutput) -> int:
        status = FAILURE
        async for event in follow_turn(
            self._conversations,
            self._record,
            self._receipt.message,
            turn=self._receipt.turn,
            cursor=cursor,
        ):
            self._number = event.turn or self._number
            output.event(event)
            if event.kind is EventKind.TURN_ENDED:
                status = self._status(event)
        return status

    def _status(self, ended: Event) -> int:
        if self._interruption.requested.is_set():
            return INTERRUPTED
        return STATUSES[TurnOutcome(ended.body["outcome"])]

    async def _cancel_when_asked(self) -> None:
        await self._interruption.requested.wait()
        try:
            await self._cancel()
        except AutolithError as error:
            complain(f"the turn could not be cancelled: {error}")

    async def _cancel(self) -> None:
        """Cancel the turn, also one that has yet to begin."""
        while True:
            if self._number is not None:
                receipt = await self._conversations.cancel(self._record, turn=self._number)
                if receipt.turn is not None:
                    return
            await asyncio.sleep(RETRY_CANCEL)
