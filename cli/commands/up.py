"""``autolith up``: start the runtime, detached or in the foreground."""

import asyncio
import logging

import click

from activities.errors import LockHeldError, NotRunningError
from cli import options
from cli.application import Application
from cli.commands.status import as_object, described
from worker.embedded.attach import ensure_running, find_runtime
from worker.embedded.runtime_file import Runtime

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"


@click.command()
@click.option("--foreground", is_flag=True, help="Stay until stopped, as a service manager wants.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve there; by default at a free port.",
)
@options.as_json
@click.pass_obj
def up(app: Application, *, foreground: bool, port: int | None, as_json: bool) -> None:
    """Start supervisor, Temporal server and worker, unless they run."""
    if app.address:
        raise click.UsageError(f"the cluster at {app.address} is used; nothing is started for it")
    if foreground and as_json:
        raise click.UsageError("--json and --foreground exclude each other")
    if foreground:
        _supervise(app, port or 0)
    else:
        _start(app, port or 0, as_json=as_json)


def _supervise(app: Application, port: int) -> None:
    from worker.embedded.supervisor import Supervisor  # noqa: PLC0415 -- for this use only

    async def serve() -> None:
        await Supervisor(app.roots, port=port).run()

    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    asyncio.run(serve())


def _start(app: Application, port: int, *, as_json: bool) -> None:
    runtime, is_new = asyncio.run(_found_or_started(app, port))
    if port and runtime.ports.frontend != port:
        raise LockHeldError(
            f"Autolith already runs at {runtime.address}; run 'autolith down' to move it"
        )
    if as_json:
        click.echo(as_object(app.roots, runtime))
        return
    click.echo(f"Autolith {'runs' if is_new else 'already runs'}:")
    for line in described(app.roots, runtime):
        click.echo(line)


async def _found_or_started(app: Application, port: int) -> tuple[Runtime, bool]:
    try:
        return await find_runtime(app.roots), False
    except NotRunningError:
        return await ensure_running(app.roots, port=port), True
