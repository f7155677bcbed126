"""The one line under the input: model, mode, what goes on, what waits, which conversation."""

from dataclasses import dataclass
from enum import StrEnum

from rich.text import Text

from cli.terminal.neutral import on_one_line
from cli.terminal.wrapping import clipped

SEPARATOR = " · "


class Link(StrEnum):
    """How the engine is reached."""

    STARTING = "starting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"


@dataclass(frozen=True)
class Standing:
    """What the status line tells."""

    conversation: str | None = None
    model: str = ""
    mode: str = "ask"
    turn: int | None = None
    queued: int = 0
    held: bool = False
    asked: int = 0
    """How many questions are open."""
    link: Link = Link.CONNECTED
    hint: str = ""
    """A word about the next key, shown first."""


def status_line(standing: Standing, width: int) -> Text:
    """Lay out *standing*; what matters least leaves first when there is no room."""
    parts = [part for part in _parts(standing) if part]
    while len(parts) > 1 and len(SEPARATOR.join(parts)) > width:
        parts.pop()
    style = "yellow" if standing.hint or standing.link is Link.RECONNECTING else "dim"
    return Text(clipped(SEPARATOR.join(parts), width), style)


def _parts(standing: Standing) -> list[str]:
    """Return what there is to tell, the most urgent first."""
    return [
        on_one_line(standing.hint),
        "" if standing.link is Link.CONNECTED else standing.link.value,
        _doing(standing),
        f"queue {standing.queued}" + (" (held)" if standing.held else "")
        if standing.queued or standing.held
        else "",
        standing.conversation or "new conversation",
        on_one_line(standing.model),
        standing.mode,
    ]


def _doing(standing: Standing) -> str:
    if standing.asked:
        return "answer needed"
    return "idle" if standing.turn is None else f"turn {standing.turn}"
