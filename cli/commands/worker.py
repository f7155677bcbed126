"""``autolith worker``: serve an existing Temporal server."""

import click

from cli.application import Application


@click.command()
@click.pass_obj
def worker(app: Application) -> None:
    """Serve workflows and tools at --address until told to stop.

    The embedded runtime starts its own worker; this command is for clusters.
    """
    from worker.main import leave, main  # noqa: PLC0415 -- loads the whole product

    address = app.address
    if address is None:
        raise click.UsageError("a worker needs --address or AUTOLITH_TEMPORAL_ADDRESS")
    app.roots.create()
    leave(main(address, app.roots))
