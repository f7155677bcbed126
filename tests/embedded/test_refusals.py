"""What cannot work is said in one clear line, and nothing is left running."""

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from activities.configuration.locations import Roots
from activities.errors import (
    AutolithError,
    ConfigurationError,
    EnvironmentDiffersError,
    ForeignServerError,
    MissingBinaryError,
    NotRunningError,
    PortTakenError,
    ServerFailedError,
    UnwritableRootError,
    WorkerFailedError,
)
from tests.embedded.home import Home, occupied
from worker.embedded.environment import require_same
from worker.embedded.readiness import own_command
from worker.embedded.runtime_file import publish_runtime


async def refusal(home: Home, kind: type[AutolithError], **environ: str) -> str:
    """Return the one line with which a start is refused."""
    with pytest.raises(kind) as refused:
        await home.up(environ)
    assert type(refused.value) is kind
    assert "\n" not in str(refused.value)
    assert home.processes() == []
    return str(refused.value)


def script(path: Path, text: str) -> str:
    """Write an executable shell script and return its name."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


async def test_a_port_that_was_asked_for_and_is_taken(home: Home) -> None:
    """The line names the port and what to do; a free one is served."""
    with occupied() as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTakenError) as refused:
            await home.up(port=port)
    assert str(refused.value) == (
        f"Port {port} on 127.0.0.1 is in use by another program; "
        "choose another one with --port, or leave the choice to Autolith"
    )
    assert home.processes() == []

    assert (await home.up(port=port)).address == f"127.0.0.1:{port}"


async def test_a_port_that_the_last_server_had_is_not_insisted_on(home: Home) -> None:
    """Ports that Autolith chose itself are chosen again when they are taken."""
    before = await home.up()
    await home.down()
    publish_runtime(home.state, before)

    with occupied(before.ports.ui):
        after = await home.up()

    assert after.ports.ui != before.ports.ui


async def test_a_root_below_a_file(home: Home) -> None:
    """It cannot be created, whoever asks (here even root)."""
    home.directory.mkdir()
    obstacle = home.directory / ".local"
    obstacle.write_text("a file")

    line = await refusal(home, UnwritableRootError)

    assert line == f"{home.roots.data}: cannot be created: Not a directory"


async def test_a_root_of_another_account(home: Home) -> None:
    """A state root that somebody else could read is not written to."""
    home.roots.create()
    subprocess.run(["chown", "nobody", home.state], check=True)

    line = await refusal(home, UnwritableRootError)

    assert line.startswith(f"{home.state}: belongs to another account (uid 65534); run Autolith")


async def test_roots_that_are_open_are_closed(home: Home) -> None:
    """Except the configuration's, whose mode is its owner's business."""
    home.roots.create()
    home.state.chmod(0o755)
    home.roots.config.chmod(0o755)

    home.roots.create()

    assert stat.S_IMODE(home.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.roots.config.stat().st_mode) == 0o755


async def test_a_program_that_is_not_there(home: Home) -> None:
    """The variable that names it is mentioned."""
    line = await refusal(home, MissingBinaryError, AUTOLITH_TEMPORAL_BINARY="/nowhere/temporal")

    assert line == "AUTOLITH_TEMPORAL_BINARY names /nowhere/temporal, which is not a program"


async def test_a_program_that_is_another_one(home: Home) -> None:
    """Whatever has the name but does not say that it is Temporal."""
    home.roots.create()
    named = script(home.state / "temporal", "echo I am a teapot")

    line = await refusal(home, MissingBinaryError, AUTOLITH_TEMPORAL_BINARY=named)

    assert line == f"{named}: is not the Temporal program (it says: I am a teapot)"


async def test_a_server_that_does_not_come_up(home: Home) -> None:
    """Its own last line is the reason, and the log is named."""
    home.roots.create()
    named = script(
        home.state / "temporal",
        '[ "$1" = --version ] && exec echo "temporal version 1.0 (Server 1.0, UI 1.0)"\n'
        "echo first; echo out of luck; exit 3",
    )

    line = await refusal(home, ServerFailedError, AUTOLITH_TEMPORAL_BINARY=named)

    log = home.roots.logs / "server.log"
    assert line == f"The Temporal server did not come up: out of luck (see {log})"


async def test_a_damaged_database(home: Home) -> None:
    """The server's own complaint is shown, and the file is not touched."""
    home.roots.create()
    database = home.state / "temporal-1.32.0.db"
    database.write_bytes(b"not a database" * 1000)

    line = await refusal(home, ServerFailedError)

    assert "file is not a database" in line
    assert database.read_bytes() == b"not a database" * 1000


async def test_a_worker_that_does_not_come_up(home: Home) -> None:
    """After the second try; the server that was started for it is ended too."""
    line = await refusal(home, WorkerFailedError, STAND_IN="refuse")

    log = home.roots.logs / "worker.log"
    assert line == f"The worker did not come up: this worker cannot work (see {log})"
    assert log.read_text() == "this worker cannot work\n" * 2


async def test_a_start_that_takes_too_long(home: Home) -> None:
    """The wait ends with what was waited for; the supervisor goes on trying."""
    with pytest.raises(NotRunningError, match=r"not ready after 3 s: the worker is being started"):
        await home.up({"STAND_IN": "never-ready"}, timeout=3)


async def test_another_server_at_our_address(home: Home, neighbour: Home) -> None:
    """The processes are alive, but the database is not the one that was published."""
    own, other = await home.up(), await neighbour.up()
    publish_runtime(home.state, replace(own, server=other.server, ports=other.ports))

    with pytest.raises(ForeignServerError, match="is not the one of this state root"):
        await home.up()

    assert await neighbour.found() == other


async def test_a_server_process_that_does_not_listen_is_not_ours(
    home: Home, neighbour: Home
) -> None:
    """Whoever answers at the port must be the very process that was published."""
    own, other = await home.up(), await neighbour.up()
    publish_runtime(home.state, replace(own, ports=other.ports))

    with pytest.raises(NotRunningError):
        await home.found()


async def test_a_client_with_another_key_is_told(home: Home) -> None:
    """The worker acts with the variables of whoever started it."""
    started = {"MISTRAL_API_KEY": "one", "AUTOLITH_OPENAI_ENDPOINT": "http://127.0.0.1:1/v1"}
    runtime = await home.up(started)

    require_same(runtime.environment, started, home.state)
    require_same(runtime.environment, {"PATH": "/bin"}, home.state)
    with pytest.raises(EnvironmentDiffersError) as other:
        require_same(runtime.environment, {"MISTRAL_API_KEY": "two"}, home.state)
    both = {"MISTRAL_API_KEY": "two", "OPENAI_API_KEY": "three"}
    with pytest.raises(EnvironmentDiffersError) as more:
        require_same(runtime.environment, both, home.state)

    assert str(other.value) == (
        "The running worker was started with another MISTRAL_API_KEY; "
        "run 'autolith down' and repeat the command (nothing is lost by that), or unset it here"
    )
    assert "another MISTRAL_API_KEY and no OPENAI_API_KEY" in str(more.value)
    assert "or unset them here" in str(more.value)
    assert "one" not in (home.state / "runtime.sexp").read_text()


@pytest.mark.parametrize("home_variable", ["", "relative", "~"])
def test_a_home_that_is_no_absolute_path(home_variable: str) -> None:
    """Without it, or the XDG variables, there is no place for anything."""
    with pytest.raises(ConfigurationError, match="HOME is not an absolute path"):
        Roots.of({"HOME": home_variable})


def test_a_relative_xdg_root_is_ignored() -> None:
    """As the XDG specification demands."""
    roots = Roots.of({"HOME": "/home/me", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "/data"})

    assert roots.state == Path("/home/me/.local/state/autolith")
    assert roots.data == Path("/data/autolith")
    assert Roots.of(roots.environment()) == roots


def test_the_current_directory_is_never_imported_from(tmp_path: Path) -> None:
    """Neither by a start from inside a project nor with the project on PYTHONPATH."""
    for package in ("cli", "worker", "activities", "workflows", "autolith"):
        (tmp_path / f"{package}.py").write_text(f"open('{tmp_path}/imported', 'w')\n")

    help_text = subprocess.run(
        own_command(sys.executable, "--help"),
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "a coding agent whose work cannot be lost" in help_text.stdout
    assert not (tmp_path / "imported").exists()
