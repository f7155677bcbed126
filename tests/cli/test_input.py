"""What is typed: messages, commands, and the history of both."""

import json
from pathlib import Path

import pytest

from activities.errors import ConfigurationError
from cli.terminal.commands import COMMANDS, Invocation, help_lines, read_input
from cli.terminal.history import ENTRIES, InputHistory


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fix it", "fix it"),
        ("fix\nit /now (please)", "fix\nit /now (please)"),
        ("//etc/passwd is odd", "/etc/passwd is odd"),
        ("/model gpt-6", Invocation("model", "gpt-6")),
        ('(model "gpt-6")', Invocation("model", "gpt-6")),
        ("(permissions full)", Invocation("permissions", "full")),
        ("(permissions :full)", Invocation("permissions", "full")),
        ("/quit", Invocation("quit")),
        ("(exit)", Invocation("quit")),
    ],
)
def test_both_spellings_mean_the_same(typed: str, meant: object) -> None:
    """And whatever is neither is a message, as it stands."""
    assert read_input(typed) == meant


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("/frob", "There is no command 'frob'; (help) lists them"),
        ("/", "There is no command ''; (help) lists them"),
        ("(frob 1)", "There is no command 'frob'; (help) lists them"),
        ("()", "A form is (command arguments)"),
        ("((model) x)", "A form is (command arguments)"),
        ("(model (a b))", "Arguments are strings, numbers or keywords"),
        ("/model", "Usage: (model NAME)"),
        ("/model a b", "Usage: (model NAME)"),
        ("/quit now", "Usage: (quit)"),
        ("/permissions wide", "Usage: (permissions ask|sandbox|full)"),
        ("(model", "form:1:1: "),
    ],
)
def test_what_looks_like_a_command_and_is_none_is_refused(typed: str, complaint: str) -> None:
    """At once, with the usage; it is never sent to the model."""
    with pytest.raises(ConfigurationError) as refused:
        read_input(typed)
    assert str(refused.value).startswith(complaint)


def test_help_names_every_command() -> None:
    """With its argument."""
    lines = help_lines()
    for name, command in COMMANDS.items():
        expected = f"({name} {command.argument})" if command.argument else f"({name})"
        assert any(line.startswith(f"{expected} ") for line in lines), name


def test_the_newest_hundred_inputs_are_kept(tmp_path: Path) -> None:
    """With their line breaks, newest first, for the owner only."""
    path = tmp_path / "history"
    for number in range(ENTRIES + 5):
        InputHistory(path).store_string(f"input\n{number}")
    kept = list(InputHistory(path).load_history_strings())
    assert len(kept) == ENTRIES
    assert (kept[0], kept[-1]) == (f"input\n{ENTRIES + 4}", "input\n5")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_history_line_is_skipped(tmp_path: Path) -> None:
    """The others are still there."""
    path = tmp_path / "history"
    path.write_text('"one"\nnot json\n{"a": 1}\n"two"\n')
    history = InputHistory(path)
    assert list(history.load_history_strings()) == ["two", "one"]
    history.store_string("three")
    assert [json.loads(line) for line in path.read_text().splitlines()] == ["one", "two", "three"]


def test_sessions_at_the_same_time_share_the_history(tmp_path: Path) -> None:
    """Neither takes the other's entries away."""
    first, second = InputHistory(tmp_path / "h"), InputHistory(tmp_path / "h")
    first.store_string("a")
    second.store_string("b")
    first.store_string("c")
    assert list(second.load_history_strings()) == ["c", "b", "a"]
