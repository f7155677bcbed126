"""``autolith status``: what runs for this account."""

import asyncio
import json
from datetime import datetime

import click

from activities.configuration.locations import Roots
from activities.errors import ConfigurationError, NotRunningError
from cli import options
from cli.application import Application
from worker.embedded.attach import find_runtime
from worker.embedded.process import Process
from worker.embedded.runtime_file import Runtime, read_runtime

NOT_READY = 1


@click.command()
@options.as_json
@click.pass_obj
def status(app: Application, *, as_json: bool) -> None:
    """Show the runtime: address, processes, versions.  The status is 1 unless it is ready."""
    if app.address:
        click.echo(asyncio.run(_cluster(app, app.address, as_json=as_json)))
        return
    try:
        runtime = asyncio.run(find_runtime(app.roots))
    except NotRunningError as error:
        _say_what_is_left(app.roots, str(error), as_json=as_json)
        raise click.exceptions.Exit(NOT_READY) from None
    if as_json:
        click.echo(as_object(app.roots, runtime))
        return
    for line in described(app.roots, runtime):
        click.echo(line)


def described(roots: Roots, runtime: Runtime) -> list[str]:
    """Return *runtime* as lines for a person."""
    versions = runtime.versions
    since = datetime.fromtimestamp(runtime.started).astimezone().isoformat(" ", "seconds")
    server = f"Temporal {versions.server}{_restarted(runtime.server_restarts)}"
    worker = f"{'ready' if runtime.is_ready else 'not ready'}{_restarted(runtime.worker_restarts)}"
    rows = {
        "address": runtime.address,
        "web ui": runtime.ui_address,
        "supervisor": f"{_pid(runtime.supervisor)}, Autolith {versions.autolith}, since {since}",
        "server": f"{_pid(runtime.server)}, {server}",
        "worker": f"{_pid(runtime.worker)}, {worker}",
        "trouble": runtime.trouble,
        "state": str(roots.state),
        "logs": str(roots.logs),
    }
    return [f"  {name:<11} {text}" for name, text in rows.items() if text]


def as_object(roots: Roots, runtime: Runtime) -> str:
    """Return *runtime* as one JSON object."""
    server, worker = runtime.server, runtime.worker
    return json.dumps(
        {
            "running": runtime.is_ready,
            "address": runtime.address,
            "ui": runtime.ui_address,
            "cluster": runtime.cluster,
            "supervisor": runtime.supervisor.pid,
            "server": server.pid if server else None,
            "worker": worker.pid if worker else None,
            "server_restarts": runtime.server_restarts,
            "worker_restarts": runtime.worker_restarts,
            "trouble": runtime.trouble,
            "started": runtime.started,
            "versions": {
                "autolith": runtime.versions.autolith,
                "server": runtime.versions.server,
                "temporal": runtime.versions.cli,
            },
            "state": str(roots.state),
        }
    )


def _say_what_is_left(roots: Roots, reason: str, *, as_json: bool) -> None:
    left = _left(roots)
    if as_json:
        click.echo(json.dumps({"running": False, "reason": reason, "left": left}))
        return
    click.echo(f"Not ready: {reason}.")
    if left and "supervisor" not in left:
        names = " and ".join(f"the {name} (pid {pid})" for name, pid in left.items())
        click.echo(
            f"Its supervisor is gone; {names} wait for the next one, or for 'autolith down'."
        )


def _left(roots: Roots) -> dict[str, int]:
    """Return the pids of what was published and still runs."""
    try:
        runtime = read_runtime(roots.state)
    except ConfigurationError:
        return {}
    if runtime is None:
        return {}
    published = {
        "supervisor": runtime.supervisor,
        "server": runtime.server,
        "worker": runtime.worker,
    }
    return {
        name: process.pid for name, process in published.items() if process and process.is_alive
    }


async def _cluster(app: Application, address: str, *, as_json: bool) -> str:
    from temporalio.api.workflowservice.v1 import GetClusterInfoRequest  # noqa: PLC0415 -- slow

    from worker.connection import connect  # noqa: PLC0415 -- slow

    client = await connect(address, app.roots)
    answer = await client.workflow_service.get_cluster_info(GetClusterInfoRequest())
    if as_json:
        return json.dumps(
            {"running": True, "address": address, "versions": {"server": answer.server_version}}
        )
    return f"  cluster     {address}, Temporal {answer.server_version}"


def _pid(process: Process | None) -> str:
    return f"pid {process.pid}" if process else "not running"


def _restarted(count: int) -> str:
    return f", restarted {count} times" if count > 1 else ", restarted once" if count else ""
