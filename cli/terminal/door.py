"""The way into an interactive session, and out of it."""

import asyncio
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from activities.errors import ConfigurationError
from activities.store.conversations import ConversationRecord, find
from cli.choice import Choice, default_model
from cli.conversations import Conversations
from cli.terminal.dialogue import Dialogue
from cli.terminal.history import NAME, InputHistory
from cli.terminal.session import Session
from cli.workspaces import workspace_at
from workflows.contracts.permission import PermissionMode

if TYPE_CHECKING:
    from cli.application import Application


def converse(
    app: "Application",
    *,
    model: str | None = None,
    permissions: str | None = None,
    workspace: str | None = None,
    conversation: str | None = None,
) -> int:
    """Hold a conversation on this terminal and return the exit status.

    Raises:
        ConfigurationError: this is no terminal to hold one on.
    """
    _check_terminal()
    choice = Choice(model, mode=PermissionMode(permissions) if permissions else None)
    if conversation is None and model is None:
        choice = replace(choice, model=default_model(os.environ))
    where = workspace_at(workspace)
    history = InputHistory(app.roots.state / NAME)
    with app.conversations(patience=None) as conversations:
        record = None
        if conversation is not None:
            record = conversations.database.read_now(partial(find, abbreviation=conversation))
        return asyncio.run(_hold(app, conversations, record, where, choice, history))


async def _hold(
    app: "Application",
    conversations: Conversations,
    record: ConversationRecord | None,
    workspace: Path,
    choice: Choice,
    history: InputHistory,
) -> int:
    dialogue = Dialogue(conversations, record=record, workspace=workspace, choice=choice)
    try:
        return await Session(dialogue, history).run()
    finally:
        for line in dialogue.parting():
            app.console.print(line, style="dim", soft_wrap=True)


def _check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("This is no terminal; 'autolith run' works without one")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise ConfigurationError("This terminal (TERM=dumb) cannot show it; use 'autolith run'")
