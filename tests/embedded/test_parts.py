"""The small parts: restarts, logs, ports, processes, the announcement, kept secrets."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from activities.configuration.locations import Roots, host_id, kept_secret, store_url
from activities.errors import LockHeldError, UnwritableRootError
from tests.embedded.home import occupied
from worker.embedded.binary import find_binary, identify
from worker.embedded.lock import locked, sign, signer
from worker.embedded.log_file import MAX_BYTES, LogFile
from worker.embedded.ports import LOWEST, Ports, is_free, listens
from worker.embedded.process import Process, Watched
from worker.embedded.readiness import VARIABLE, Launch, announce
from worker.embedded.restarts import Restarts
from worker.embedded.server import DYNAMIC, PRAGMAS, Server

SLEEP = ["sleep", "600"]


def test_a_steady_service_is_restarted_at_once() -> None:
    """However often it is killed, as long as it served in between."""
    restarts = Restarts()

    assert [restarts.delay(5.0) for _ in range(50)] == [0.0] * 50
    assert restarts.total == 50


def test_a_service_that_never_serves_is_held_back() -> None:
    """Three times at once, then with doubling waits up to half a minute."""
    restarts = Restarts()

    waits = [restarts.delay(0.0) for _ in range(11)]

    assert waits == [0, 0, 0, 0.5, 1, 2, 4, 8, 16, 30, 30]
    assert restarts.delay(1.0) == 0
    assert restarts.delay(0.0) == 0


def test_a_log_is_moved_aside_under_its_writer(tmp_path: Path) -> None:
    """The writer keeps its descriptor, and its next line is at the start of an empty file."""
    log = LogFile(tmp_path / "x.log")
    descriptor = log.open()
    os.write(descriptor, b"a" * MAX_BYTES + b"\n")

    log.shorten()
    os.write(descriptor, b"next\n")
    os.close(descriptor)

    assert log.path.read_bytes() == b"next\n"
    older = tmp_path / "x.log.1"
    assert older.stat().st_size == MAX_BYTES + 1
    assert {older.stat().st_mode & 0o777, log.path.stat().st_mode & 0o777} == {0o600}


def test_the_last_line_is_that_of_this_life(tmp_path: Path) -> None:
    """What an earlier process wrote is no reason for the failure of this one."""
    log = LogFile(tmp_path / "x.log")
    assert log.last_line() == ""
    log.path.write_bytes(b"earlier\n")
    before = log.size()

    assert log.last_line() == "earlier"
    assert log.last_line(after=before) == ""
    with log.path.open("ab") as file:
        file.write(b"now \xff\n\n  \n")
    assert log.last_line(after=before) == "now �"


def test_ports_are_not_those_of_outgoing_connections() -> None:
    """A client that reconnects can never be given the server's port as its own."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

    ports = Ports.draw()

    chosen = {ports.frontend, ports.http, ports.metrics, ports.ui}
    assert len(chosen) == 4
    assert all(LOWEST <= port < lowest for port in chosen)
    assert ports.are_free


def test_a_port_belongs_to_the_process_that_listens() -> None:
    """Not to whoever knows its number."""
    with occupied() as own:
        port = own.getsockname()[1]
        assert not is_free(port)
        assert listens(os.getpid(), port)
        assert not listens(os.getppid(), port)
    assert is_free(port)
    assert not listens(os.getpid(), port)


async def test_an_ended_process_is_noticed_with_its_status(tmp_path: Path) -> None:
    """Whoever started it learns how it ended, whoever adopted it that it ended."""
    with (tmp_path / "log").open("wb") as log:
        started = Watched.start(["sh", "-c", "read x; exit 7"], environ={}, log=log.fileno())
        assert await started.ended() == 7
        running = Watched.start(SLEEP, environ=os.environ, log=log.fileno())
    adopted = Watched.adopt(running.process)
    assert adopted is not None
    assert running.process.is_alive

    assert await adopted.stop(5) is None
    assert await running.ended() == -15
    assert not running.process.is_alive
    assert Watched.adopt(running.process) is None


async def test_a_process_that_ignores_the_request_is_ended(tmp_path: Path) -> None:
    """After the grace that it was given."""
    with (tmp_path / "log").open("wb") as log:
        stubborn = Watched.start(
            ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"],
            environ=os.environ,
            log=log.fileno(),
        )
    while (tmp_path / "log").read_bytes() != b"ready\n":
        await asyncio.sleep(0.01)

    assert await stubborn.stop(0.1) == -9


def test_a_process_with_a_confusing_name_is_read_correctly(tmp_path: Path) -> None:
    """The name in /proc may hold spaces and parentheses."""
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"]) as process:
        found = Process.of(process.pid)
        assert found is not None
        assert found.is_alive
        process.kill()
        process.wait()
        assert not found.is_alive


def test_a_lock_ends_with_its_holder_and_not_before(tmp_path: Path) -> None:
    """A process that inherited the descriptor keeps it; a second holder is refused."""
    path = tmp_path / "x.lock"
    with locked(path, held="taken") as lock:
        holder = subprocess.Popen(SLEEP, pass_fds=[lock])
        named = Process.of(holder.pid)
        assert named is not None
        sign(lock, named)
    assert signer(path) == named

    with pytest.raises(LockHeldError, match="taken"), locked(path, held="taken"):
        pytest.fail("the lock was given twice")
    holder.kill()
    holder.wait()

    assert signer(path) is None
    with locked(path, held="taken"):
        pass


def test_a_lock_file_is_never_somebody_elses(tmp_path: Path) -> None:
    """A link at its place is not followed."""
    (tmp_path / "x.lock").symlink_to(tmp_path / "victim")

    refused = pytest.raises(UnwritableRootError, match="cannot be locked")
    with refused, locked(tmp_path / "x.lock", held="taken"):
        pytest.fail("the link was followed")

    assert not (tmp_path / "victim").exists()


async def test_an_announcement_is_one_line(tmp_path: Path) -> None:
    """Whatever an error says, and whoever ends without a word."""
    log = LogFile(tmp_path / "log")
    speech = f"import os; os.write(int(os.environ['{VARIABLE}']), b'a line\\nmore')"
    speaking = Launch([sys.executable, "-c", speech], environ=os.environ, log=log)
    assert await speaking.line() == "a line"
    assert speaking.last_words() == f"it says nothing (see {log.path})"

    silent = Launch(["sh", "-c", "echo why >&2"], environ=os.environ, log=log)
    assert await silent.line() == ""
    assert silent.last_words() == f"why (see {log.path})"


def test_an_announcement_to_nobody_is_an_error() -> None:
    """A worker whose supervisor has gone must not go on unwatched."""
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        announce({VARIABLE: str(writing)})
    announce({})


def test_a_kept_secret_is_the_first_one(tmp_path: Path) -> None:
    """Of many that ask at the same moment all get the same, and the file is private."""
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: kept_secret(tmp_path / "key", size=32), range(64)))

    assert len(found) == 1
    assert len(bytes.fromhex(found.pop())) == 32
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("content", ["", "short", "zz" * 6, "é"])
def test_a_damaged_host_id_is_refused(tmp_path: Path, content: str) -> None:
    """Another one in its place would orphan the work that waits for this host."""
    (tmp_path / "host-id").write_text(content)

    with pytest.raises(UnwritableRootError, match="host-id: "):
        host_id(tmp_path)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "sqlite:////data/store.db"),
        ({"AUTOLITH_STORE": ""}, "sqlite:////data/store.db"),
        ({"AUTOLITH_STORE": "postgresql://x/y"}, "postgresql://x/y"),
    ],
)
def test_the_store_is_a_file_unless_named(environ: Mapping[str, str], expected: str) -> None:
    """``AUTOLITH_STORE`` names another one."""
    assert store_url(Path("/data"), environ) == expected


def test_every_flag_of_the_server_exists(tmp_path: Path) -> None:
    """The program itself knows each of them, and each tuned value is given to it."""
    binary = find_binary()
    usage = subprocess.run(
        [binary, "server", "start-dev", "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = subprocess.run(
        [binary, "options"], capture_output=True, text=True, check=True
    ).stdout
    roots = Roots.of()
    server = Server(roots.state, roots.logs, identify(binary, tmp_path), {})
    command = server.command(Ports(1, 2, 3, 4))

    flags = {word for word in command if word.startswith("--")}
    assert {flag for flag in flags if flag not in usage + options} == set()
    given = [
        command[at + 1] for at, word in enumerate(command) if word == "--dynamic-config-value"
    ]
    assert given == [f"{key}={value}" for key, value in DYNAMIC.items()]
    given = [command[at + 1] for at, word in enumerate(command) if word == "--sqlite-pragma"]
    assert given == list(PRAGMAS)


def test_attaching_needs_no_sdk() -> None:
    """The SDK takes longer to import than everything that a client asks first."""
    modules = "worker.embedded.attach, worker.embedded.stop, worker.embedded.supervisor"
    code = f"import sys, {modules}; print('temporalio' in sys.modules)"

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert said == "False\n"
