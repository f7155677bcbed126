"""``autolith show``: print a conversation's transcript."""

import asyncio

import click

from activities.store.record import Record, read_record
from cli import options
from cli.application import Application
from cli.terminal.record_rows import record_rows


@click.command()
@options.conversation_id
@options.as_json
@click.pass_obj
def show(app: Application, conversation_id: str, *, as_json: bool) -> None:
    """Print everything that was said and done in conversation ID."""
    with app.store() as database:
        record = asyncio.run(database.read(lambda tx: read_record(tx, conversation_id)))
    if as_json:
        click.echo(record.model_dump_json(indent=2))
    else:
        print_record(app, record)


def print_record(app: Application, record: Record) -> None:
    """Print *record* for reading, as wide as the terminal is."""
    for row in record_rows(record, app.console.width):
        app.console.print(row, soft_wrap=True)
