"""Options and arguments that several commands share."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

HOST = re.compile(r"[A-Za-z0-9._-]+")
LAST_PORT = 65_535
MODES = ("ask", "sandbox", "full")


class HostPort(click.ParamType[str]):
    """The address of a server: a name or a number, and a port."""

    name = "HOST:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return *value* if it is one."""
        host, _, port = value.rpartition(":")
        is_host = bool(HOST.fullmatch(host)) or (host.startswith("[") and host.endswith("]"))
        if not is_host or not port.isdecimal() or not 0 < int(port) <= LAST_PORT:
            self.fail(f"{value!r} is no HOST:PORT", param, ctx)
        return value


def model(function: F) -> F:
    """Add ``--model``."""
    return click.option("--model", metavar="NAME", help="Model that answers.")(function)


def effort(function: F) -> F:
    """Add ``--effort``."""
    return click.option("--effort", metavar="LEVEL", help="Reasoning effort.")(function)


def permissions(function: F) -> F:
    """Add ``--permissions``."""
    return click.option(
        "--permissions", type=click.Choice(MODES), help="How commands are judged."
    )(function)


def workspace(function: F) -> F:
    """Add ``--workspace``."""
    return click.option("--workspace", metavar="DIR", help="Work there instead of here.")(function)


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def conversation_id(function: F) -> F:
    """Add the ``ID`` argument; an abbreviation and hyphens are fine."""
    return click.argument("conversation_id", metavar="ID")(function)
