"""Consoles that follow the conventions of their stream.

Colour: ``NO_COLOR`` (set and not empty) beats ``FORCE_COLOR`` (``0`` means off)
beats whether that very stream is a terminal; ``TERM=dumb`` is plain.  Colours are
those of the terminal's own palette.
"""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console

UNWRAPPED = 10_000
"""The width of a file: lines are as long as they are."""


def wants_colour(*, terminal: bool, environment: Mapping[str, str]) -> bool:
    """Return whether a stream gets colour."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return environment["FORCE_COLOR"] != "0"
    return terminal and environment.get("TERM") != "dumb"


def console_for(stream: TextIO, environment: Mapping[str, str] | None = None) -> Console:
    """Return a console that writes to *stream* and takes no text for markup."""
    environment = os.environ if environment is None else environment
    terminal = stream.isatty()
    colour = wants_colour(terminal=terminal, environment=environment)
    return Console(
        file=stream,
        force_terminal=terminal,
        color_system="standard" if colour else None,
        no_color=not colour,
        width=None if terminal else UNWRAPPED,
        markup=False,
        emoji=False,
        highlight=False,
    )


def output() -> Console:
    """Return the console of standard output."""
    return console_for(sys.stdout)


def complaints() -> Console:
    """Return the console of standard error."""
    return console_for(sys.stderr)
