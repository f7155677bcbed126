"""``autolith export``: write a conversation as Markdown or JSON."""

import asyncio
import os
import sys
from pathlib import Path

import click

from activities.errors import ConfigurationError
from activities.store.record import read_record
from cli import options
from cli.application import Application
from cli.markdown import as_markdown
from cli.terminal.neutral import neutralise

PRIVATE = 0o600


@click.command()
@options.conversation_id
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="What to write.",
)
@click.option("--output", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.pass_obj
def export(
    app: Application, conversation_id: str, form: str, output: str | None, *, force: bool
) -> None:
    """Write conversation ID as a document of its own."""
    with app.store() as database:
        record = asyncio.run(database.read(lambda tx: read_record(tx, conversation_id)))
    text = as_markdown(record) if form == "markdown" else record.model_dump_json(indent=2) + "\n"
    if output is None:
        # Not through click, which takes colours out of what goes into a pipe.
        sys.stdout.write(neutralise(text) if sys.stdout.isatty() else text)
    else:
        write_private(Path(output), text, replace=force)


def write_private(path: Path, text: str, *, replace: bool) -> None:
    """Write *text* to a file that only its owner reads, whole or not at all.

    Raises:
        ConfigurationError: it exists and *replace* is false.
        OSError: it cannot be written.
    """
    if path.exists() and not path.is_file():
        # A device or a pipe is written to, not replaced.
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path)
    except FileExistsError:
        raise ConfigurationError(f"{path}: exists; use --force to replace it") from None
    finally:
        temporary.unlink(missing_ok=True)
