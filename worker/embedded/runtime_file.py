"""``runtime.sexp``: what runs here, published by the supervisor at every change.

It is a hint for clients and for the next supervisor, never a proof: each process is
named together with its start, and the server with the id of its database, so that a
reader can check all of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.configuration.form_writer import publish_form
from activities.configuration.forms import NIL, Form, Keyword, T, read_form
from activities.configuration.properties import (
    Properties,
    as_boolean,
    as_integer,
    as_list,
    as_properties,
    as_text,
    properties,
)
from worker.embedded.ports import Ports
from worker.embedded.process import Process
from worker.embedded.process_form import as_process, process_form

NAME: Final = "runtime.sexp"
UNIVERSAL_TIME: Final = 2_208_988_800
"""Times in data files are seconds since 1900-01-01 UTC (domain reference 4.9)."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Which releases run."""

    autolith: str
    server: str
    cli: str


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that runs for one state root."""

    ports: Ports
    cluster: str
    """The id of the served database."""
    started: int
    """When the supervisor began, in Unix time."""
    versions: Versions
    supervisor: Process
    server: Process | None = None
    worker: Process | None = None
    is_ready: bool = False
    """Whether the worker polls."""
    server_restarts: int = 0
    worker_restarts: int = 0
    trouble: str = ""
    """Why something does not run at the moment."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Digests of the variables that the worker was started with."""

    @property
    def address(self) -> str:
        """Where clients find the Temporal server."""
        return self.ports.address

    @property
    def ui_address(self) -> str:
        """Where a browser finds the Temporal Web UI."""
        return self.ports.ui_address


def publish_runtime(state: Path, runtime: Runtime) -> None:
    """Replace the file with *runtime*.

    Raises:
        UnwritableRootError: it cannot be written.
    """
    ports, versions = runtime.ports, runtime.versions
    publish_form(
        state / NAME,
        _plist(
            address=runtime.address,
            ui=runtime.ui_address,
            ports=_plist(
                frontend=ports.frontend, http=ports.http, metrics=ports.metrics, ui=ports.ui
            ),
            cluster=runtime.cluster,
            started=runtime.started + UNIVERSAL_TIME,
            versions=_plist(autolith=versions.autolith, server=versions.server, cli=versions.cli),
            supervisor=process_form(runtime.supervisor),
            server=process_form(runtime.server) if runtime.server else NIL,
            worker=process_form(runtime.worker) if runtime.worker else NIL,
            ready=T if runtime.is_ready else NIL,
            server_restarts=runtime.server_restarts,
            worker_restarts=runtime.worker_restarts,
            trouble=runtime.trouble,
            environment=tuple(runtime.environment.items()),
        ),
    )


def read_runtime(state: Path) -> Runtime | None:
    """Return what the file says; None when there is none.

    Raises:
        ConfigurationError: it is damaged.
    """
    path = state / NAME
    try:
        values = properties(read_form(path), path=path)
    except FileNotFoundError:
        return None
    return Runtime(
        ports=_ports(as_properties(values, "ports")),
        cluster=as_text(values, "cluster"),
        started=as_integer(values, "started") - UNIVERSAL_TIME,
        versions=_versions(as_properties(values, "versions")),
        supervisor=as_process(values.get("supervisor", ()), path=path),
        server=_process(values, "server"),
        worker=_process(values, "worker"),
        is_ready=as_boolean(values, "ready"),
        server_restarts=as_integer(values, "server-restarts"),
        worker_restarts=as_integer(values, "worker-restarts"),
        trouble=as_text(values, "trouble"),
        environment=_environment(values),
    )


def _plist(**values: Form) -> Form:
    return tuple(
        element
        for name, value in values.items()
        for element in (Keyword(name.replace("_", "-")), value)
    )


def _ports(values: Properties) -> Ports:
    return Ports(*(as_integer(values, name) for name in ("frontend", "http", "metrics", "ui")))


def _versions(values: Properties) -> Versions:
    return Versions(*(as_text(values, name) for name in ("autolith", "server", "cli")))


def _process(values: Properties, key: str) -> Process | None:
    value = values.get(key, NIL)
    return None if value == NIL else as_process(value, path=values.path)


def _environment(values: Properties) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in as_list(values, "environment"):
        if not isinstance(pair, tuple) or len(pair) != 2:  # noqa: PLR2004 -- a pair
            raise values.fault("environment", "must be a list of pairs")
        name, digest = pair
        if not isinstance(name, str) or not isinstance(digest, str):
            raise values.fault("environment", "must be pairs of strings")
        found[name] = digest
    return found
