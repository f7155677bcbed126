"""``autolith doctor``: check the installation and what runs."""

import asyncio
import json
import os
from collections.abc import Iterable
from dataclasses import asdict

import click

from activities.configuration.locations import Roots
from cli import options
from cli.application import Application
from worker.embedded.finding import Finding, Grade
from worker.embedded.health import examine_cluster, examine_runtime
from worker.embedded.installation import examine_installation
from worker.embedded.machine import examine

COLOURS = {Grade.OK: "green", Grade.WARN: "yellow", Grade.FAIL: "red"}


@click.command()
@options.as_json
@click.pass_obj
def doctor(app: Application, *, as_json: bool) -> None:
    """Check the installation and what runs; the status is 1 if something fails."""
    # Not the application's roots: that they cannot be created is one of the findings.
    findings = _findings(Roots.of(os.environ), app.address)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for line in rendered(findings):
            click.echo(line)
    if any(finding.grade is Grade.FAIL for finding in findings):
        raise click.exceptions.Exit(1)


def rendered(findings: Iterable[Finding]) -> Iterable[str]:
    """Lay out *findings*, each with its advice below it."""
    for finding in findings:
        grade = click.style(f"{finding.grade:<5}", fg=COLOURS[finding.grade])
        yield f"{grade} {finding.check:<11} {finding.text}"
        if finding.advice:
            yield f"{'':<17} -> {finding.advice}"


def _findings(roots: Roots, address: str | None) -> list[Finding]:
    findings = [examine_installation(), *examine(roots, os.environ)]
    if not roots.state.is_dir():
        return findings
    running = examine_cluster(address, roots) if address else examine_runtime(roots, os.environ)
    return findings + asyncio.run(running)
