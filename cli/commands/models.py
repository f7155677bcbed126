"""``autolith models``: every known model id."""

import click

from activities.provider.catalog import MODELS


@click.command()
def models() -> None:
    """Print every known model id, sorted, a line each.

    It needs neither login nor session.  Any other id is passed on as it is.
    """
    for name in sorted({entry.id for entry in MODELS}):
        click.echo(name)
