"""``autolith attach``: open an existing conversation interactively."""

import click

from cli import options
from cli.application import Application
from cli.terminal.door import converse


@click.command()
@options.conversation_id
@options.model
@options.permissions
@click.pass_obj
def attach(
    app: Application, conversation_id: str, model: str | None, permissions: str | None
) -> int:
    """Open conversation ID interactively, with what was said before."""
    return converse(app, conversation=conversation_id, model=model, permissions=permissions)
