"""Commands end, and so does everything they started (field cases A-18 and A-19)."""

import asyncio
import os
import sys

import pytest

from activities.shell.captures import CaptureState
from activities.shell.executions import Phase
from tests.shell.site import Site, until
from workflows.contracts.tool import CallStatus

STUBBORN = "bash -c '(trap \"\" TERM; while :; do :; done) & wait'"
ESCAPING = (
    f"{sys.executable} -c 'import os, time; os.fork() and os._exit(0); os.setsid(); "
    'os.fork() and os._exit(0); open("away", "w").write(str(os.getpid())); time.sleep(600)\''
)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600 & echo fg",
        "sleep 600 >/dev/null & echo fg",
        "sleep 600 >/dev/null 2>&1 & echo fg",
        "nohup sh -c 'while :; do echo n; sleep 1; done' & echo fg",
    ],
)
async def test_a_child_that_keeps_the_pipe_does_not_keep_the_result(
    site: Site, command: str
) -> None:
    """The command has ended; its child is ended too, and that is said."""
    result = await site.run(command, timeout_seconds=300)

    assert result.text.startswith("exit 0\n")
    assert "fg" in result.text
    assert result.details["left"] >= 1
    assert "in the background, which were ended" in result.text
    assert site.survivors() == []


async def test_a_background_child_that_finishes_at_once_is_not_mentioned(site: Site) -> None:
    """A short grace lets it write its last words."""
    result = await site.run("(sleep 0.05; echo late) & echo early")

    assert result.text == "exit 0\nearly\nlate"
    assert result.details["left"] == 0


async def test_a_timeout_ends_grandchildren_that_ignore_it(site: Site) -> None:
    """TERM, a short grace, KILL; the output so far is the result, and it is a failure."""
    result = await site.run(f"echo before; {STUBBORN}", timeout_seconds=1)

    assert result.status is CallStatus.ERROR
    assert result.text.startswith("timeout after ")
    assert "before" in result.text
    assert result.details["timed_out"] is True
    assert site.survivors() == []


async def test_a_daemon_cannot_get_away(site: Site) -> None:
    """It has left its session, its group and its parent, and ends all the same."""
    result = await site.run(f"{ESCAPING}; while ! [ -s away ]; do sleep 0.01; done; cat away")

    daemon = int(result.text.splitlines()[1])
    assert result.details["left"] == 1
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)


async def test_a_fork_bomb_is_outrun(site: Site) -> None:
    """Groups are killed in one step, so forking faster does not help."""
    bomb = "b() { sleep 0.01; [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; wait; sleep 600; }"

    result = await site.run(f"trap '' TERM; {bomb}; b 5", timeout_seconds=1)

    assert result.details["timed_out"] is True
    assert result.details["survivors"] == 0
    assert site.survivors() == []


async def test_a_polite_command_may_clean_up(site: Site) -> None:
    """TERM comes before KILL."""
    command = "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done"

    result = await site.run(command, timeout_seconds=1)

    assert result.text.startswith("timeout after 1 s\nready\n")
    assert result.text.endswith("cleaned")
    assert result.details["exit"] == 3
    assert result.details["timed_out"] is True


async def test_cancelling_ends_the_command_and_its_descendants(site: Site) -> None:
    """The external process is killed and reaped; the cancellation goes on."""
    running = asyncio.create_task(site.run(f"touch started; {STUBBORN} & sleep 600"))
    await until((site.workspace / "started").exists)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    standing = site.executions.look(site.context().key.execution)
    assert standing.phase is Phase.FINISHED
    assert standing.outcome is not None
    assert standing.outcome.cancelled
    assert site.survivors() == []


async def test_an_impatient_second_cancellation_loses_nothing(site: Site) -> None:
    """The task may be gone; the command ends in any case."""
    running = asyncio.create_task(site.run("trap '' TERM; touch started; sleep 600"))
    await until((site.workspace / "started").exists)

    running.cancel()
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await until(lambda: site.survivors() == [])
    await until(lambda: site.capture().state is CaptureState.FINISHED)


async def test_a_command_cancelled_before_it_began_never_begins(site: Site) -> None:
    """A withdrawn execution is closed to every runner."""
    running = asyncio.create_task(site.run("touch happened"))
    await until(site.directory().is_dir)
    withdrawn = await site.executions.cancel(site.context().key.execution)
    result = await running

    assert withdrawn.outcome is not None
    ran = (site.workspace / "happened").exists()
    assert ran is (not withdrawn.outcome.cancelled)
    assert result.status is (CallStatus.OK if ran else CallStatus.CANCELLED)


async def test_a_worker_that_stops_leaves_the_command_running(site: Site) -> None:
    """Its next attempt, here or elsewhere, adopts it."""
    context = site.context()
    command = "touch started; while ! [ -e go ]; do sleep 0.02; done; echo done"
    first = asyncio.create_task(site.run(command, context))
    await until((site.workspace / "started").exists)

    context.left_running.set()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert site.survivors() != []
    (site.workspace / "go").touch()

    result = await site.run(command)
    assert result.text == "exit 0\ndone"


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV")])
async def test_a_signal_is_named(site: Site, number: int, name: str) -> None:
    """A command that was killed has no exit status."""
    result = await site.run(f"echo out; kill -{number} $$")

    assert result.text == f"signal {number} ({name})\nout"
    assert result.details["exit"] is None
    assert result.details["signal"] == number


async def test_a_command_gets_the_signals_of_a_fresh_process(site: Site) -> None:
    """What Python ignores is not ignored by the command: ``yes | head`` ends."""
    result = await site.run(
        "yes | head -1; grep SigIgn /proc/self/status; grep SigBlk /proc/self/status"
    )

    assert result.text.splitlines()[:2] == ["exit 0", "y"]
    masks = [int(line.split()[1], 16) for line in result.text.splitlines()[2:]]
    # The C library keeps signals 32 and 33 for itself: no program can change those.
    assert [mask & ~(0b11 << 31) for mask in masks] == [0, 0]
