"""``autolith down``: stop the runtime gracefully."""

import asyncio

import click

from cli import options
from cli.application import Application
from worker.embedded.stop import stop_runtime


@click.command()
@options.as_json
@click.pass_obj
def down(app: Application, *, as_json: bool) -> None:
    """Stop worker, Temporal server and supervisor; conversations wait, commands go on.

    Shell commands that run at that moment keep running, and are adopted by the next worker.
    """
    if app.address:
        raise click.UsageError(f"the cluster at {app.address} is used; it is stopped elsewhere")
    ran = asyncio.run(stop_runtime(app.roots))
    if as_json:
        click.echo('{"stopped": true}' if ran else '{"stopped": false}')
    elif ran:
        click.echo("Stopped. Conversations wait where they are, and shell commands that were")
        click.echo("running keep running; 'autolith up', or any command, goes on with both.")
    else:
        click.echo("Nothing was running.")
