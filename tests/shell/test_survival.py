"""Commands outlive whoever watches them, and none ever runs twice (A-13)."""

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from activities.errors import CommandFailed, UnknownOutcome
from activities.shell import claim, processes, records
from activities.shell.executions import Phase
from activities.shell.exits import watching
from activities.shell.processes import BOOT_VARIABLE
from tests.shell.site import CONVERSATION, Site, kill, until

REPOSITORY = Path(__file__).parents[2]
MARK = "echo x >> effects"
HOLD = "while ! [ -e go ]; do sleep 0.02; done"


def attempt(site: Site, command: str) -> "subprocess.Popen[str]":
    """Start one attempt of the site's call in another process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.shell.attempt", str(site.root), command],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )


def effects(site: Site) -> int:
    """Count how often the command has left its mark."""
    return len((site.workspace / "effects").read_text().splitlines())


def runner(site: Site) -> int:
    """Return the pid of the call's runner."""
    owner = claim.read(str(site.directory()))
    assert owner is not None
    return owner.pid


async def test_a_command_survives_its_watcher_and_is_adopted(site: Site) -> None:
    """Kill -9 of the worker: the next one gets the very same result."""
    command = f"{MARK}; {HOLD}; echo done; exit 7"
    first = attempt(site, command)
    await until((site.workspace / "effects").exists)
    first.kill()
    first.communicate()

    second = attempt(site, command)
    await asyncio.sleep(0.2)
    (site.workspace / "go").touch()
    answer, _ = second.communicate(timeout=30)

    assert answer == "exit 7\ndone\n"
    assert effects(site) == 1


async def test_a_command_that_ended_while_nobody_watched_has_its_result(site: Site) -> None:
    """The outcome waits in the directory; even its timeout held without a worker."""
    command = f"{MARK}; echo partial; sleep 600"
    first = asyncio.create_task(site.run(command, context := site.context(), timeout_seconds=1))
    await until((site.workspace / "effects").exists)
    context.left_running.set()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await until(lambda: site.executions.look(context.key.execution).phase is Phase.FINISHED)

    result = await site.run(command, timeout_seconds=1)

    assert result.text == "timeout after 1 s\npartial"
    assert effects(site) == 1
    assert site.survivors() == []


async def test_eight_attempts_at_once_start_one_command(site: Site) -> None:
    """Whatever starts them, the claim lets one runner through; all hear its result."""
    command = f"{MARK}; sleep 0.3; echo one"
    attempts = [attempt(site, command) for _ in range(8)]
    answers = [process.communicate(timeout=60)[0] for process in attempts]

    assert answers == ["exit 0\none\n"] * 8
    assert effects(site) == 1


async def test_many_runners_for_one_claim_start_one_command(site: Site) -> None:
    """A second runner exits silently, also when both were spawned before any claim."""
    context = site.context()
    await asyncio.gather(*(site.run(f"{MARK}; echo one", context) for _ in range(8)))

    assert effects(site) == 1


async def test_a_killed_runner_leaves_an_unknown_outcome(site: Site) -> None:
    """Its command dies with it, what was captured is told, and nothing is started again."""
    command = f"{MARK}; echo captured; (sleep 600 &) ; {HOLD}"
    running = asyncio.create_task(site.run(command))
    await until((site.directory() / "output").exists)
    await until(lambda: (site.directory() / "output").read_bytes() == b"captured\n")
    kill(runner(site))

    with pytest.raises(UnknownOutcome) as lost:
        await running
    with pytest.raises(UnknownOutcome):
        await site.run(command)

    assert "its runner died" in str(lost.value)
    assert "inspect what it changed before you repeat it" in str(lost.value)
    assert "shell-log:Conv1.1.1.0: 9 bytes observed, 9 retained, incomplete" in str(lost.value)
    assert effects(site) == 1
    await until(lambda: site.survivors() == [])
    window = await site.read("shell-log:Conv1.1.1.0")
    assert "the command was interrupted" in window.text
    assert window.text.endswith("\ncaptured\n")


async def test_a_command_dies_with_its_runner(site: Site) -> None:
    """Also when nobody watches: nothing runs on that nobody counts."""
    await site.detach(f"echo $$ > pid; {HOLD}")
    await until(lambda: (site.workspace / "pid").exists() and (site.workspace / "pid").read_text())
    command = int((site.workspace / "pid").read_text())
    kill(runner(site))

    await until(lambda: (found := processes.find(command)) is None or not found.is_alive)


async def test_a_runner_killed_in_a_flood_leaves_what_can_be_trusted(site: Site) -> None:
    """Counts are on disk after every piece, so even then they say what is there."""
    running = asyncio.create_task(site.run("yes 0123456789abcde"))
    await until((site.directory() / "output").exists)
    await until(lambda: (site.directory() / "output").stat().st_size == 64 * 1024 * 1024)
    kill(runner(site))
    with pytest.raises(UnknownOutcome):
        await running

    uri = "shell-log:Conv1.1.1.0"
    missing = await site.read(uri, byte_offset=60 * 1024 * 1024)
    resumed = missing.details["next_offset"]
    window = await site.read(uri, byte_offset=resumed, byte_count=32)
    period = b"0123456789abcde\n"
    expected = (period * 4)[resumed % 16 : resumed % 16 + 32].decode()
    assert window.text.split("\n", 2)[2] == expected


async def test_a_restarted_machine_closes_its_executions(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim of another boot is nobody's, even if a process has its pid by now."""
    monkeypatch.setenv(BOOT_VARIABLE, "boot-1")
    context = site.context()
    running = asyncio.create_task(site.run(f"{MARK}; echo early; {HOLD}", context))
    await until((site.workspace / "effects").exists)
    context.left_running.set()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    monkeypatch.setenv(BOOT_VARIABLE, "boot-2")
    with pytest.raises(UnknownOutcome, match="the machine was restarted"):
        await site.run(MARK)

    assert effects(site) == 1


async def test_a_result_from_before_the_restart_stays_a_result(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written down is known, whatever happened since."""
    monkeypatch.setenv(BOOT_VARIABLE, "boot-1")
    await site.run(f"{MARK}; echo before")
    monkeypatch.setenv(BOOT_VARIABLE, "boot-2")

    assert (await site.run(MARK)).text == "exit 0\nbefore"
    assert effects(site) == 1


async def test_a_pid_that_is_used_again_is_not_the_runner(site: Site) -> None:
    """The start time tells two processes of one pid apart; neither adoption nor kill errs."""
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        directory = site.directory()
        directory.mkdir(parents=True)
        record: dict[str, object] = {"pid": bystander.pid, "start": 1, "boot": processes.boot()}
        records.publish(str(directory), records.CLAIM, record, durable=True)

        await site.executions.cancel(site.context().key.execution)
        with watching(bystander.pid, start=1) as other:
            other.send(signal.SIGKILL)
            assert other.ended.is_set()

        assert site.executions.look(directory.name).phase is Phase.INTERRUPTED
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]"])
async def test_a_damaged_claim_starts_nothing(site: Site, damage: bytes) -> None:
    """Something may have run; nobody knows."""
    await site.register()
    (site.directory() / records.CLAIM).write_bytes(damage)

    with pytest.raises(UnknownOutcome, match="its claim is damaged"):
        await site.run(MARK)
    assert not (site.workspace / "effects").exists()


async def test_a_half_written_outcome_of_another_boot_is_unknown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure may leave an empty file; that is no outcome."""
    monkeypatch.setenv(BOOT_VARIABLE, "boot-1")
    await site.run(MARK)
    (site.directory() / records.OUTCOME).write_bytes(b"")
    monkeypatch.setenv(BOOT_VARIABLE, "boot-2")

    with pytest.raises(UnknownOutcome, match="the machine was restarted"):
        await site.run(MARK)


async def test_a_withdrawn_execution_answers_cancelled(site: Site) -> None:
    """It was cancelled before any runner came, and no runner can come any more."""
    await site.register()
    await site.executions.cancel(site.context().key.execution)

    result = await site.run(MARK)

    assert result.text.startswith("cancelled\n")
    assert not (site.workspace / "effects").exists()


async def test_a_command_whose_records_were_removed_is_unknown(site: Site) -> None:
    """Somebody has tidied up by hand; that is no reason to run it again."""
    await site.run(MARK)
    shutil.rmtree(site.directory())

    with pytest.raises(UnknownOutcome, match="its records are gone"):
        await site.run(MARK)
    assert effects(site) == 1


async def test_a_runner_that_cannot_start_says_why(site: Site) -> None:
    """The last words on its standard error are the reason."""
    await site.register()
    (site.directory() / records.SPEC).write_text('{"argv": []}')

    with pytest.raises(CommandFailed, match="The runner did not start: TypeError"):
        await site.run(MARK)


async def test_the_runner_leaves_no_process_of_the_watcher_behind(site: Site) -> None:
    """It is nobody's child here: a worker has nothing to reap."""
    await site.run("true")

    children = psutil.Process().children()
    assert not [child.pid for child in children if "runner.py" in " ".join(child.cmdline())]
    assert site.survivors() == []
    assert CONVERSATION in str(site.directory())
