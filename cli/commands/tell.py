"""``autolith tell``: send a message to a conversation, with a receipt."""

import asyncio

import click

from activities.errors import ConversationError
from activities.store import messages
from activities.store.conversations import ConversationRecord
from cli import options
from cli.application import Application
from cli.conversations import Conversations
from workflows.contracts.conversation import Delivery, Disposition, Receipt


@click.command()
@options.conversation_id
@click.argument("text", required=False)
@click.option("--steer", "delivery", flag_value="steer", help="Deliver it to the running turn.")
@click.option("--queue", "delivery", flag_value="queue", help="Let it wait for a turn of its own.")
@click.option("--message", metavar="MESSAGE", help="Send a message again that is kept already.")
@click.pass_obj
def tell(
    app: Application,
    conversation_id: str,
    text: str | None,
    delivery: str | None,
    message: str | None,
) -> None:
    """Send TEXT to conversation ID and print the receipt.

    It steers the running turn, or waits for a turn of its own with --queue.
    """
    if (text is None) is (message is None):
        raise click.UsageError("Give either TEXT or --message")
    wanted = Delivery(delivery or "steer")
    with app.conversations() as conversations:
        receipt = asyncio.run(_tell(conversations, conversation_id, text, message, wanted))
    click.echo(receipt_line(receipt))


def receipt_line(receipt: Receipt) -> str:
    """Say what became of a message."""
    match receipt.disposition:
        case Disposition.STARTED:
            where = f"started turn {receipt.turn}"
        case Disposition.STEERING:
            where = f"steers turn {receipt.turn}"
        case Disposition.QUEUED:
            where = f"queued at {receipt.position}"
    return f"{receipt.message} {where}"


async def _tell(
    conversations: Conversations,
    abbreviation: str,
    text: str | None,
    message: str | None,
    delivery: Delivery,
) -> Receipt:
    record = await conversations.find(abbreviation)
    if text is not None:
        message = await conversations.keep(record, text, delivery)
    else:
        await _check_kept(conversations, record, str(message))
    return await conversations.submit(record, str(message), delivery=delivery)


async def _check_kept(
    conversations: Conversations, record: ConversationRecord, message: str
) -> None:
    kept = await conversations.database.read(lambda tx: messages.texts(tx, (message,)))
    if message not in kept:
        raise ConversationError(f"No message {message} is kept for {record.id}")
