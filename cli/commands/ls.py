"""``autolith ls``: conversations and where they stand."""

import asyncio
import json
import time

import click
from rich.text import Text

from activities.errors import NotRunningError
from activities.store import conversations
from activities.store.conversations import ConversationRecord
from cli import options
from cli.application import Application
from cli.standing import Standing, standings
from cli.terminal.neutral import on_one_line
from cli.terminal.rows import duration
from cli.terminal.wrapping import clipped
from worker.embedded.attach import find_runtime

STYLES = {
    Standing.RUNNING: "green",
    Standing.WAITING: "bold yellow",
    Standing.IDLE: "",
    Standing.CLOSED: "dim",
    Standing.ASLEEP: "dim",
}
AGE_CELLS = 12
STANDING_CELLS = 8
WORKSPACE_CELLS = 30


@click.command()
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, metavar="N")
@options.as_json
@click.pass_obj
def ls(app: Application, limit: int, *, as_json: bool) -> None:
    """List conversations, the most recently active first."""
    found, standing = asyncio.run(_read(app, limit))
    now = time.time()
    for record in found:
        state = standing.get(record.id, Standing.CLOSED)
        if as_json:
            click.echo(json.dumps(record.model_dump(mode="json") | {"state": state.value}))
        else:
            row = conversation_row(record, state, now, app.console.width)
            app.console.print(row, soft_wrap=True)


def conversation_row(
    record: ConversationRecord, standing: Standing, now: float, width: int
) -> Text:
    """Lay out one conversation."""
    row = Text(record.id, "bold")
    row.append(f"  {duration(max(now - record.active, 0)):>{AGE_CELLS}}", "dim")
    row.append(f"  {standing.value:<{STANDING_CELLS}}", STYLES[standing])
    workspace = on_one_line(record.workspace)
    if len(workspace) > WORKSPACE_CELLS:
        workspace = f"…{workspace[1 - WORKSPACE_CELLS :]}"
    row.append(f"  {workspace}", "cyan")
    row.append(f"  {on_one_line(record.preview)}")
    kept = len(clipped(row.plain, width))
    if kept < len(row.plain):
        row.right_crop(len(row.plain) - kept + 1)
        row.append("…", "dim")
    return row


async def _read(
    app: Application, limit: int
) -> tuple[list[ConversationRecord], dict[str, Standing]]:
    with app.conversations() as client:
        found = await client.database.read(lambda tx: conversations.newest_first(tx, limit))
        if not found:
            return [], {}
        if app.address is None and not await _is_up(app):
            return found, dict.fromkeys((record.id for record in found), Standing.ASLEEP)
        return found, await client.engine(standings)


async def _is_up(app: Application) -> bool:
    # To look is no reason to start anything: work that was stopped would go on.
    try:
        await find_runtime(app.roots)
    except NotRunningError:
        return False
    return True
