"""``autolith configure``: change what later turns of a conversation use."""

import asyncio

import click

from cli import options
from cli.application import Application
from cli.choice import Choice
from cli.conversations import Conversations
from workflows.contracts.conversation import ConversationStatus
from workflows.contracts.permission import PermissionMode


@click.command()
@options.conversation_id
@options.model
@options.effort
@options.permissions
@click.pass_obj
def configure(
    app: Application,
    conversation_id: str,
    model: str | None,
    effort: str | None,
    permissions: str | None,
) -> None:
    """Change what later turns of conversation ID use."""
    choice = Choice(model, effort, PermissionMode(permissions) if permissions else None)
    if choice.is_empty:
        raise click.UsageError("Give --model, --effort or --permissions")
    with app.conversations() as conversations:
        status = asyncio.run(_configure(conversations, conversation_id, choice))
    click.echo(settings_line(status))


def settings_line(status: ConversationStatus) -> str:
    """Say what later turns use."""
    effort = f", effort {status.effort}" if status.effort else ""
    return f"{status.conversation}: model {status.model}{effort}, permissions {status.mode.value}"


async def _configure(
    conversations: Conversations, abbreviation: str, choice: Choice
) -> ConversationStatus:
    return await conversations.configure(await conversations.find(abbreviation), choice)
