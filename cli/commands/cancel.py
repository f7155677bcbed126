"""``autolith cancel``: cancel the running turn, or one job."""

import asyncio

import click

from activities.errors import ConversationError
from cli import options
from cli.application import Application
from cli.conversations import Conversations
from workflows.contracts.conversation import CancellationReceipt


@click.command()
@options.conversation_id
@click.option("--job", metavar="JOB", help="Cancel this job and leave the turn alone.")
@click.option("--hold", is_flag=True, help="Keep queued input back until something is sent.")
@click.pass_obj
def cancel(app: Application, conversation_id: str, job: str | None, *, hold: bool) -> None:
    """Cancel the running turn of conversation ID."""
    with app.conversations() as conversations:
        receipt = asyncio.run(_cancel(conversations, conversation_id, job, hold=hold))
    if job is not None and receipt.job is None:
        raise ConversationError(f"Job {job} is not running")
    if job is None and receipt.turn is None:
        raise ConversationError("No turn is running")
    click.echo(f"cancelling job {receipt.job}" if job else f"cancelling turn {receipt.turn}")


async def _cancel(
    conversations: Conversations, abbreviation: str, job: str | None, *, hold: bool
) -> CancellationReceipt:
    record = await conversations.find(abbreviation)
    return await conversations.cancel(record, job=job, hold_queue=hold)
