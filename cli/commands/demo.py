"""``autolith demo``: a coding task that survives two killed workers."""

import asyncio
import json

import click

from cli import options


@click.command()
@options.as_json
def demo(*, as_json: bool) -> None:
    """Run a scripted coding task, kill the worker twice, and count what was lost.

    It uses a temporary place and free ports, and cleans up after itself.
    """
    from cli.demo.drama import perform  # noqa: PLC0415 -- loads the whole product
    from cli.demo.report import report  # noqa: PLC0415

    def say(line: str) -> None:
        click.echo(line, err=as_json)

    findings = asyncio.run(perform(say))
    click.echo(json.dumps(findings.as_json()) if as_json else report(findings))
    if not findings.holds:
        raise click.exceptions.Exit(1)
