"""The status line, the list of conversations, and when there is colour."""

import io
from typing import TextIO

import pytest

from activities.store.conversations import ConversationRecord
from cli.commands.ls import conversation_row
from cli.standing import Standing as Doing
from cli.terminal.console import console_for, wants_colour
from cli.terminal.interrupts import Interrupts
from cli.terminal.record_rows import argument_line
from cli.terminal.rows import duration
from cli.terminal.status_line import Link, Standing, status_line

BUSY = Standing(conversation="8vQ2mpKx", model="scripted", mode="full", turn=3, queued=2, asked=1)


class FakeTerminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("environment", "terminal", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_conventions(
    environment: dict[str, str], *, terminal: bool, colour: bool
) -> None:
    """NO_COLOR, then FORCE_COLOR, then the stream itself (field case A-61)."""
    assert wants_colour(terminal=terminal, environment=environment) is colour
    stream: TextIO = FakeTerminal() if terminal else io.StringIO()
    console_for(stream, environment).print("x", style="bold red")
    assert ("\x1b" in stream.getvalue()) is colour  # type: ignore[attr-defined]  # a StringIO


@pytest.mark.parametrize(
    ("standing", "width", "line"),
    [
        (Standing(), 60, "idle · new conversation · ask"),
        (Standing(link=Link.STARTING), 60, "starting · idle · new conversation · ask"),
        (BUSY, 60, "answer needed · queue 2 · 8vQ2mpKx · scripted · full"),
        (BUSY, 40, "answer needed · queue 2 · 8vQ2mpKx"),
        (BUSY, 8, "answer …"),
        (
            Standing(conversation="8vQ2mpKx", turn=3, held=True, link=Link.RECONNECTING),
            60,
            "reconnecting · turn 3 · queue 0 (held) · 8vQ2mpKx · ask",
        ),
        (Standing(model="a\x1b[2Jb"), 60, "idle · new conversation · a␛[2Jb · ask"),
    ],
)
def test_the_status_line_drops_what_matters_least(
    standing: Standing, width: int, line: str
) -> None:
    """It never wraps, and nothing in it controls the terminal."""
    assert status_line(standing, width).plain == line


def test_a_row_of_the_list_fits_the_terminal() -> None:
    """The preview is cut first, and a hostile folder name is shown."""
    record = ConversationRecord(
        id="8vQ2mpKx",
        created=0.0,
        active=100.0,
        workspace="/home/me/a\x1b[2J/very/long/path/to/somewhere",
        host="h",
        preview="fix the failing test and then some",
    )
    full = conversation_row(record, Doing.WAITING, 190.0, 200).plain
    assert full == (
        "8vQ2mpKx    1 min 30 s  waiting   …J/very/long/path/to/somewhere"
        "  fix the failing test and then some"
    )
    assert conversation_row(record, Doing.WAITING, 190.0, 70).plain == f"{full[:69]}…"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (61, "1 min 1 s"), (7_260, "2 h 1 min")],
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    """With a tenth only where it matters."""
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"command": "ls", "timeout": 5}', ":command ls :timeout 5"),
        ('{"operations": [{"a": "é"}]}', ':operations [{"a": "é"}]'),
        ("{broken", "(arguments that do not parse)"),
        ("[1]", "(arguments that are no object)"),
    ],
)
def test_arguments_are_never_shown_as_they_came(arguments: str, line: str) -> None:
    """But as names and values."""
    assert argument_line(arguments) == line


def test_a_second_interrupt_forces_only_what_the_first_cancelled() -> None:
    """Clearing a draft arms nothing."""
    harmless = Interrupts()
    assert harmless.press(cancels=False) is None
    assert harmless.press(cancels=True) is None
    assert harmless.press(cancels=True) == 130
