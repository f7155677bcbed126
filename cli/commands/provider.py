"""``autolith provider serve``: a scripted provider for tests and dry runs."""

import asyncio
import signal
from pathlib import Path

import click

from activities.provider.scripted.reader import read_script
from activities.provider.scripted.server import serve


@click.group()
def provider() -> None:
    """Serve a scripted provider for tests and dry runs."""


@provider.command("serve")
@click.option("--script", required=True, metavar="FILE", help="What to answer.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1; a free one by default.",
)
@click.option("--log", metavar="FILE", help="Append every request there, as JSON lines.")
def serve_script(script: str, port: int, log: str | None) -> None:
    """Answer Chat Completions requests from a script, until Ctrl-C.

    The first line of output is the address; give it to Autolith in
    AUTOLITH_OPENAI_ENDPOINT. docs/scripted-provider.md describes the script.
    """
    asyncio.run(_serve(Path(script), port, Path(log) if log else None))


async def _serve(path: Path, port: int, log: Path | None) -> None:
    script = read_script(path)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serve(script, port, log, remember=False) as running:
        click.echo(running.endpoint)
        await stop.wait()
