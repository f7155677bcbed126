"""Options and arguments that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("ask", "sandbox", "full")


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
