"""Starting, attaching and stopping."""

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from activities.errors import LockHeldError, NotRunningError
from tests.embedded.home import Home, kill, program, supervisor_command, until_gone
from worker.embedded.process import Process
from worker.embedded.stop import stop_runtime
from workflows.policy.search import ALL

REUSED = f'(:pid {os.getpid()} :started 1 :boot "another")'
"""A pid that belongs to this test now."""


async def test_the_first_client_starts_everything(home: Home) -> None:
    """Supervisor, server and worker run, and the published addresses answer."""
    runtime = await home.up()

    assert runtime.is_ready
    assert runtime.trouble == ""
    for process in (runtime.supervisor, runtime.server, runtime.worker):
        assert process is not None
        assert process.is_alive
    reader, writer = await asyncio.open_connection("127.0.0.1", runtime.ports.ui)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await reader.read(15)
    writer.close()
    assert answer.startswith(b"HTTP/1.0 200")


async def test_the_next_client_attaches_to_the_same(home: Home) -> None:
    """Nothing is started twice."""
    first = await home.up()

    assert await home.up() == first
    assert await home.found() == first


async def test_clients_at_the_same_moment_get_one_runtime(home: Home) -> None:
    """Of five clients one starts the supervisor, and all of them use it."""
    command = program("client")
    clients = [
        await asyncio.create_subprocess_exec(
            *command, env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(5)
    ]
    answers = [await client.communicate() for client in clients]

    assert [client.returncode for client in clients] == [0] * 5, answers
    assert len({out for out, _ in answers}) == 1
    runtime = home.published()
    running = {process.pid for process in home.processes()}
    expected = {runtime.supervisor, runtime.server, runtime.worker}
    assert running == {process.pid for process in expected if process}


async def test_a_second_supervisor_is_refused(home: Home) -> None:
    """It says who serves the state root, and the first one is not disturbed."""
    first = await home.up()

    second = subprocess.run(
        supervisor_command(0), env=home.environ, capture_output=True, text=True, check=False
    )

    assert second.returncode == 1
    assert second.stderr.strip() == (
        f"LockHeldError: Another supervisor serves {home.state}; 'autolith down' stops it"
    )
    assert await home.found() == first


async def test_a_runtime_outlives_its_client_and_its_terminal(home: Home) -> None:
    """The supervisor has a session of its own, and so have server and worker."""
    client = await asyncio.create_subprocess_exec(
        *program("client"),
        env=home.environ,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert await client.wait() == 0
    runtime = await home.found()

    pids = [
        process.pid for process in (runtime.supervisor, runtime.server, runtime.worker) if process
    ]
    assert [os.getsid(pid) for pid in pids] == pids


async def test_a_stop_leaves_nothing_running_and_keeps_the_database(home: Home) -> None:
    """After a stop no process is left; the next start serves the same database."""
    first = await home.up()

    assert await home.down()
    assert home.processes() == []
    with pytest.raises(NotRunningError):
        await home.found()
    assert not await home.down()

    assert (await home.up()).cluster == first.cluster


async def test_sigterm_stops_the_supervisor_gracefully(home: Home) -> None:
    """As a service manager does it: server and worker end first, and the file goes."""
    runtime = await home.up()

    kill(runtime.supervisor.pid, signal.SIGTERM)
    await until_gone(runtime.supervisor.pid)

    assert home.processes() == []
    assert not (home.state / "runtime.sexp").exists()
    assert "the worker has ended\nthe server has ended\n" in home.log("supervisor")


async def test_a_second_signal_ends_a_worker_that_does_not_listen(home: Home) -> None:
    """Whoever is in a hurry need not wait for the grace period."""
    runtime = await home.up({"STAND_IN": "stubborn"})

    kill(runtime.supervisor.pid, signal.SIGINT)
    await home.until_log("supervisor", "stopping")
    assert runtime.worker
    assert runtime.worker.is_alive
    kill(runtime.supervisor.pid, signal.SIGINT)
    await until_gone(runtime.supervisor.pid)

    assert home.processes() == []


async def test_a_stop_in_the_middle_of_a_start_leaves_nothing(home: Home) -> None:
    """A worker that never gets ready does not keep the supervisor from ending."""
    start = asyncio.create_task(home.up({"STAND_IN": "never-ready"}))
    runtime = await home.until(lambda runtime: runtime.worker is not None)

    kill(runtime.supervisor.pid, signal.SIGTERM)
    await until_gone(runtime.supervisor.pid)
    start.cancel()
    await asyncio.wait((start,))

    assert home.processes() == []


async def test_two_homes_do_not_meet(home: Home, neighbour: Home) -> None:
    """Two sets of roots have their own ports, databases and processes."""
    one, other = await asyncio.gather(home.up(), neighbour.up())

    assert one.cluster != other.cluster
    assert {one.ports.frontend, one.ports.ui}.isdisjoint({other.ports.frontend, other.ports.ui})
    assert await stop_runtime(neighbour.roots)
    assert await home.found() == one


async def test_nothing_listens_beyond_loopback(home: Home) -> None:
    """Every listening socket of every process, also the server's inner ones."""
    await home.up()

    listening = [
        connection.laddr.ip
        for process in home.processes()
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]

    assert len(listening) >= 4
    assert set(listening) == {"127.0.0.1"}


async def test_everything_in_the_roots_is_private(home: Home) -> None:
    """Whatever the umask of the starter was: files 0600, directories 0700."""
    before = os.umask(0)
    try:
        await home.up()
    finally:
        os.umask(before)

    roots = home.roots
    paths = [
        path
        for root in (roots.config, roots.data, roots.state, roots.cache)
        for path in (root, *root.rglob("*"))
    ]
    assert {path.name for path in paths} >= {
        "runtime.sexp",
        "server.log",
        "temporal-1.32.0.db-wal",
    }
    loose = {
        str(path): oct(path.stat().st_mode & 0o777)
        for path in paths
        if path.stat().st_mode & 0o777 != (0o700 if path.is_dir() else 0o600)
    }
    assert loose == {}


async def test_the_server_knows_no_key(home: Home) -> None:
    """Provider keys reach the worker and nobody else (field case A-22)."""
    runtime = await home.up({"OPENROUTER_API_KEY": "sek-A", "MY_OWN_TOKEN": "sek-C"})

    def environ(process: Process | None) -> dict[str, str]:
        assert process
        return psutil.Process(process.pid).environ()

    assert environ(runtime.worker)["OPENROUTER_API_KEY"] == "sek-A"
    assert not {"sek-A", "sek-C"} & set(environ(runtime.server).values())
    assert "sek-A" not in (home.state / "runtime.sexp").read_text()


async def test_the_server_is_told_retention_and_search_attributes(home: Home) -> None:
    """Through its API at every start, since its flags are ignored on an existing database."""
    runtime = await home.up()
    client = await Client.connect(runtime.address)

    namespace = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace="default")
    )
    attributes = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace="default")
    )

    assert namespace.config.workflow_execution_retention_ttl.ToTimedelta().days == 30
    assert set(attributes.custom_attributes) >= {key.name for key in ALL}


async def test_the_database_uses_a_write_ahead_log(home: Home) -> None:
    """The file's header says so (bytes 18 and 19)."""
    await home.up()

    assert (home.state / "temporal-1.32.0.db").read_bytes()[18:20] == b"\x02\x02"


@pytest.mark.parametrize("content", ["", "(:pid 1", REUSED], ids=["empty", "cut", "reused"])
async def test_a_lock_file_without_a_holder_is_no_obstacle(home: Home, content: str) -> None:
    """The file is left by a killed supervisor; its pid may be another program's by now."""
    home.roots.create()
    for name in ("supervisor.lock", "server.lock"):
        (home.state / name).write_text(content)

    assert (await home.up()).is_ready


async def test_a_lock_held_by_somebody_unseen_is_reported(home: Home) -> None:
    """A holder that did not sign, for example in another container, is not waited for long."""
    home.roots.create()
    holder = subprocess.Popen(
        ["flock", str(home.state / "supervisor.lock"), "sleep", "60"], start_new_session=True
    )
    try:
        with pytest.raises(LockHeldError, match="Another supervisor serves"):
            await home.up()
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()


async def test_a_damaged_runtime_file_is_replaced(home: Home) -> None:
    """It is published again by the next supervisor."""
    home.roots.create()
    (home.state / "runtime.sexp").write_text("(:address")

    assert (await home.up()) == home.published()


async def test_readiness_is_told_to_systemd(home: Home, tmp_path: Path) -> None:
    """A unit of Type=notify is started when the worker polls, not before."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    channel.bind(str(tmp_path / "notify"))
    channel.settimeout(30)
    runtime = await home.up({"NOTIFY_SOCKET": str(tmp_path / "notify")})

    assert channel.recv(100) == b"READY=1"
    assert runtime.worker
    assert "NOTIFY_SOCKET" not in psutil.Process(runtime.worker.pid).environ()
    await home.down()
    assert channel.recv(100) == b"STOPPING=1"
    channel.close()
