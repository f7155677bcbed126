"""``autolith decide``: answer an open permission question from anywhere."""

import asyncio

import click

from activities.errors import UnknownRequestError
from activities.store import events
from activities.store.conversations import ConversationRecord
from cli import options
from cli.application import Application
from cli.conversations import Conversations
from cli.question import Question
from cli.terminal.rows import question as question_rows
from workflows.contracts.event import EventKind
from workflows.contracts.permission import Answer

ANSWERS = tuple(answer.value for answer in Answer)


@click.command()
@options.conversation_id
@click.argument("words", nargs=-1, metavar="[[REQUEST] full|sandbox|deny]")
@click.pass_obj
def decide(app: Application, conversation_id: str, words: tuple[str, ...]) -> None:
    """Answer a question of conversation ID, or list the open ones.

    REQUEST may be left out when one question is open.
    """
    request, answer = parse(words)
    with app.conversations() as conversations:
        asyncio.run(_decide(app, conversations, conversation_id, request, answer))


def parse(words: tuple[str, ...]) -> tuple[str | None, Answer | None]:
    """Return the request and the answer that *words* name.

    Raises:
        click.UsageError: they name something else.
    """
    if not words:
        return None, None
    *requests, answer = words
    if answer not in ANSWERS or len(requests) > 1:
        raise click.UsageError(f"Give [REQUEST] and one of {', '.join(ANSWERS)}")
    return (requests[0] if requests else None), Answer(answer)


async def _decide(
    app: Application,
    conversations: Conversations,
    abbreviation: str,
    request: str | None,
    answer: Answer | None,
) -> None:
    record = await conversations.find(abbreviation)
    if answer is None or request is None:
        found = await open_questions(conversations, record)
        if answer is None:
            _list(app, found)
            return
        request = only_one(found).request
    await conversations.decide(record, request, answer)
    click.echo(f"{request} answered: {answer.value}")


async def open_questions(
    conversations: Conversations, record: ConversationRecord
) -> list[Question]:
    """Return the questions that the engine says are open, as the store words them."""
    status = await conversations.status(record)
    # A turn that waits for an answer adds little: its question is among the newest events.
    recent = await conversations.database.read(lambda tx: events.newest(tx, record.id))
    asked = [event for event in recent if event.kind is EventKind.PERMISSION_ASKED]
    worded = {event.body["request"]: Question.of(event) for event in asked}
    return [
        worded.get(pending.id, Question(pending.id, pending.tool, "", sandbox=True))
        for pending in status.pending
    ]


def only_one(found: list[Question]) -> Question:
    """Return the one open question.

    Raises:
        UnknownRequestError: there is none, or more than one.
    """
    if not found:
        raise UnknownRequestError("No question is open")
    if len(found) > 1:
        names = ", ".join(question.request for question in found)
        raise UnknownRequestError(f"{len(found)} questions are open, name one: {names}")
    return found[0]


def _list(app: Application, found: list[Question]) -> None:
    if not found:
        click.echo("no question is open")
    for question in found:
        width = app.console.width
        for row in question_rows(question.request, question.tool, question.command, width):
            app.console.print(row, soft_wrap=True)
