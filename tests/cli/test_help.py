"""``autolith --help`` is light, and its table is the truth."""

import json
import os
import sys
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, autolith
from tests.cli.command import Account, one_line

HEAVY = ("temporalio", "sqlalchemy", "rich", "prompt_toolkit", "pydantic", "httpx", "asyncio")
PROBE = """
import json, sys
from cli.main import main
try:
    main("autolith", ["--help"])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_help_imports_nothing_heavy(account: Account) -> None:
    """Not even asyncio."""
    ended = account.shell(f"{sys.executable} -c '{PROBE}'")
    loaded = {name.partition(".")[0] for name in json.loads(ended.stderr)}
    assert loaded & set(HEAVY) == set()
    assert "cli.commands" not in json.loads(ended.stderr)
    assert ended.stdout.startswith("Usage: autolith")


def test_every_command_file_is_in_the_table_and_the_other_way_round() -> None:
    """A file holds the command of its name."""
    folder = Path(sys.modules["cli.main"].__file__ or "").parent / "commands"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_loads_and_explains_itself(name: str) -> None:
    """Its own help begins with a sentence."""
    context = click.Context(autolith, info_name="autolith")
    command = autolith.get_command(context, name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str()


def test_help_lists_every_command(account: Account) -> None:
    """With its sentence, in sections."""
    output = account.run("--help").stdout
    for name, sentence in COMMANDS.items():
        assert f"  {name} " in output
        assert sentence.split(".")[0][:40] in output


def test_the_version_is_that_of_the_package(account: Account) -> None:
    """As ``--version`` says."""
    assert account.run("--version").stdout.startswith("autolith, version ")


def test_without_a_terminal_there_is_no_session(account: Account) -> None:
    """It says what works instead."""
    line = one_line(account.run(), status=1)
    assert line == "autolith: This is no terminal; 'autolith run' works without one"


def test_the_door_pins_our_packages(account: Account) -> None:
    """A project with a ``cli`` of its own does not get in the way."""
    stranger = account.workspace / "cli"
    stranger.mkdir()
    (stranger / "__init__.py").write_text("raise SystemExit('the stranger ran')")
    ended = account.run(
        "--version",
        environ={
            "PYTHONPATH": os.pathsep.join([str(account.workspace), account.environ["PYTHONPATH"]])
        },
    )
    assert (ended.returncode, ended.stderr) == (0, "")
