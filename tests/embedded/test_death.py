"""Anything may be killed; the rest goes on, and what died comes back."""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest

from activities.errors import NotRunningError
from tests.embedded.home import Home, kill, occupied, until_gone
from worker.embedded.process import Process
from worker.embedded.runtime_file import Runtime, publish_runtime


def pid_of(process: Process | None) -> int:
    """Return the pid of a process that has to be there."""
    assert process is not None
    return process.pid


def is_back(old: Process | None, service: str) -> Callable[[Runtime], bool]:
    """Return the fact that *service* is ready again as another process than *old*."""
    return lambda runtime: runtime.is_ready and getattr(runtime, service) not in (None, old)


async def test_a_killed_worker_is_replaced(home: Home) -> None:
    """The server goes on meanwhile, and the restart is counted."""
    before = await home.up()

    kill(pid_of(before.worker))
    after = await home.until(is_back(before.worker, "worker"))

    assert after.server == before.server
    assert after.worker_restarts == 1
    assert after.trouble == ""
    assert "the worker was ended by SIGKILL; starting it again in 0 s" in home.log("supervisor")


async def test_a_worker_killed_again_and_again_comes_back_each_time(home: Home) -> None:
    """More often than the starts that are repeated at once."""
    runtime = await home.up()
    for count in range(1, 6):
        kill(pid_of(runtime.worker))
        runtime = await home.until(is_back(runtime.worker, "worker"))
        assert runtime.worker_restarts == count


async def test_a_killed_server_comes_back_where_it_was(home: Home) -> None:
    """At the same address with the same database, so that worker and clients reconnect."""
    before = await home.up()

    kill(pid_of(before.server))
    after = await home.until(is_back(before.server, "server"))

    assert after.ports == before.ports
    assert after.cluster == before.cluster
    assert after.worker == before.worker
    assert await home.found() == after


async def test_a_server_whose_port_was_taken_meanwhile_moves_with_its_worker(home: Home) -> None:
    """Another program got the port while nobody listened there."""
    before = await home.up()
    kill(before.supervisor.pid, signal.SIGSTOP)
    kill(pid_of(before.server))
    await until_gone(pid_of(before.server))

    with occupied(before.ports.frontend):
        kill(before.supervisor.pid, signal.SIGCONT)
        after = await home.until(
            lambda runtime: runtime.is_ready and runtime.address != before.address
        )
        after = await home.until(is_back(before.worker, "worker"))

        assert after.cluster == before.cluster
        assert after.address in psutil.Process(pid_of(after.worker)).cmdline()


async def test_both_killed_at_once_come_back(home: Home) -> None:
    """The worker waits for the server."""
    before = await home.up()

    kill(pid_of(before.server))
    kill(pid_of(before.worker))
    await home.until(is_back(before.server, "server"))
    after = await home.until(is_back(before.worker, "worker"))

    assert await home.found() == after


async def test_a_killed_supervisor_leaves_the_work_running(home: Home) -> None:
    """The next command starts another one, which adopts what it finds and watches it."""
    before = await home.up()

    kill(before.supervisor.pid)
    await until_gone(before.supervisor.pid)
    with pytest.raises(NotRunningError):
        await home.found()
    adopted = await home.up()

    assert adopted.supervisor != before.supervisor
    assert (adopted.server, adopted.worker) == (before.server, before.worker)
    assert (adopted.address, adopted.cluster) == (before.address, before.cluster)
    kill(pid_of(adopted.worker))
    after = await home.until(is_back(adopted.worker, "worker"))
    kill(pid_of(after.server))
    await home.until(is_back(after.server, "server"))


async def test_the_server_that_died_with_its_supervisor_returns_to_its_worker(home: Home) -> None:
    """The orphaned worker finds the new server at the old address, and is adopted."""
    before = await home.up()

    kill(before.supervisor.pid)
    kill(pid_of(before.server))
    await until_gone(pid_of(before.server))
    after = await home.up()

    assert (after.worker, after.address) == (before.worker, before.address)
    assert after.server != before.server


async def test_everything_killed_at_once_comes_back_with_the_next_command(home: Home) -> None:
    """As after a power cut: locks and files are left behind, the database is intact."""
    before = await home.up()

    for process in home.processes():
        kill(process.pid)
    await until_gone(before.supervisor.pid)
    after = await home.up()

    assert after.cluster == before.cluster
    assert (after.server, after.worker) != (before.server, before.worker)


@pytest.mark.parametrize("older", ["autolith", "server"])
async def test_what_an_older_release_left_is_replaced(home: Home, older: str) -> None:
    """Only processes of the same release are adopted; others are ended first."""
    before = await home.up()
    kill(before.supervisor.pid)
    await until_gone(before.supervisor.pid)
    versions = replace(before.versions, **{older: "0.0.1"})
    publish_runtime(home.state, replace(before, versions=versions))

    after = await home.up()

    assert (after.worker != before.worker) is (older == "autolith")
    assert (after.server != before.server) is (older == "server")
    assert len(home.processes()) == 3


async def test_a_server_that_nobody_remembers_is_ended_first(home: Home) -> None:
    """The lock that the server itself holds says who has the database open."""
    before = await home.up()
    kill(before.supervisor.pid)
    kill(pid_of(before.worker))
    await until_gone(before.supervisor.pid)
    (home.state / "runtime.sexp").unlink()

    after = await home.up()

    assert after.cluster == before.cluster
    assert before.server
    assert not before.server.is_alive


async def test_down_ends_what_a_killed_supervisor_left(home: Home) -> None:
    """Nothing is orphaned for good."""
    runtime = await home.up()
    kill(runtime.supervisor.pid)
    await until_gone(runtime.supervisor.pid)

    assert await home.down()
    assert home.processes() == []


async def test_a_pid_that_another_program_was_given_is_left_alone(home: Home) -> None:
    """Neither believed by a client nor ended by a supervisor or by ``down``."""
    runtime = await home.up()
    await home.down()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        # Its pid, but the start of the process that once had it.
        reused = replace(runtime.supervisor, pid=stranger.pid)
        claimed = replace(runtime, supervisor=reused, server=reused, worker=reused)
        publish_runtime(home.state, claimed)
        for name in ("supervisor.lock", "server.lock"):
            lock = home.state / name
            lock.write_text(
                lock.read_text().replace(str(runtime.supervisor.pid), str(stranger.pid))
            )

        with pytest.raises(NotRunningError):
            await home.found()
        assert not await home.down()
        publish_runtime(home.state, claimed)
        assert (await home.up()).is_ready
        await home.down()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_pid_of_an_earlier_boot_is_nobody(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a reboot the same pid may even have the same start time."""
    home.roots.create()
    own = Process.own()
    monkeypatch.setenv("AUTOLITH_BOOT_ID", "after-the-reboot")

    assert not own.is_alive
    assert Process.own() == Process(os.getpid(), own.started, "after-the-reboot")


async def test_a_worker_that_fails_once_is_given_a_second_try(home: Home) -> None:
    """A passing failure at the very first start is nobody's business."""
    assert (await home.up({"STAND_IN": f"refuse-once:{home.directory / 'tried'}"})).is_ready


async def test_a_file_that_cannot_be_published_is_published_later(home: Home) -> None:
    """What runs goes on without it, for example while the disk is full."""
    before = await home.up()
    published = home.state / "runtime.sexp"
    published.unlink()
    (published / "in the way").mkdir(parents=True)

    kill(pid_of(before.worker))
    await home.until_log("supervisor", "runtime.sexp: cannot be written")
    (published / "in the way").rmdir()
    published.rmdir()
    after = await home.until(is_back(before.worker, "worker"))

    assert after.supervisor == before.supervisor
