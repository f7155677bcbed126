"""``shell.run`` as a model and a workflow meet it (domain reference 5.4)."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from activities.errors import AccessDenied, CommandFailed, InvalidArguments
from activities.shell import claim
from activities.tools.shell import JobEnd, ShellArguments, ShellRun, watch_execution
from tests.shell.site import CONVERSATION, Site, kill, until
from workflows.contracts.job import JobState
from workflows.contracts.tool import CallStatus, Concurrency, EffectClass, JobHandoff
from workflows.policy.commands import effective_timeout, label

EXECUTION = f"{CONVERSATION}.1.1.0"


async def watch(site: Site, **rest: Any) -> JobEnd:
    """Watch the call as its job does."""
    return await watch_execution(
        EXECUTION, CONVERSATION, state_root=site.state, database=site.database, **rest
    )


async def test_an_exit_status_is_information(site: Site) -> None:
    """A command that fails is a result like any other."""
    result = await site.run("echo no >&2; exit 3")

    assert result.text == "exit 3\nno"
    assert result.status is CallStatus.OK
    assert result.details["exit"] == 3


async def test_standard_input_is_empty(site: Site) -> None:
    """A command that asks gets an end of file, not the worker's terminal."""
    assert (await site.run("cat; tty")).text == "exit 1\nnot a tty"


async def test_the_directory_is_within_the_workspace(site: Site) -> None:
    """Relative or absolute, through links: where it really is decides."""
    (site.workspace / "sub").mkdir()
    (site.workspace / "out").symlink_to("/")

    assert (await site.run("pwd", directory="sub")).text == f"exit 0\n{site.workspace}/sub"
    for outside in ("..", "/", "out", "out/etc", "sub/../.."):
        with pytest.raises(AccessDenied):
            await site.run("touch happened", site.context(1), directory=outside)
    with pytest.raises(CommandFailed, match="nowhere is not a directory"):
        await site.run("true", site.context(1), directory="nowhere")
    assert not site.directory(1).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": ""},
        {"command": "x", "timeout-seconds": 0.5},
        {"command": "x", "timeout-seconds": float("inf")},
        {"command": "x", "shell": "bash"},
        {"command": "x", "async": "perhaps"},
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object]) -> None:
    """The schema is closed and every limit is checked."""
    with pytest.raises(ValidationError):
        ShellArguments.model_validate(arguments)


async def test_a_command_that_no_system_can_start_is_refused(site: Site) -> None:
    """Each reason is one line."""
    with pytest.raises(InvalidArguments, match="NUL"):
        await site.run("a\0b")
    with pytest.raises(CommandFailed, match=r"could not be started: .*too long"):
        await site.run(f": {'x' * 200_000}", site.context(1))


def test_the_declaration_is_the_specs() -> None:
    """Names, classes and defaults of domain reference 5.4."""
    declaration = ShellRun().declaration()

    assert declaration.name == "shell.run"
    assert declaration.effect is EffectClass.ADOPTABLE
    assert declaration.concurrency is Concurrency.CONCURRENT
    assert declaration.asks
    assert declaration.parameters["additionalProperties"] is False
    assert set(declaration.parameters["properties"]) == {
        "command",
        "directory",
        "timeout-seconds",
        "async",
        "description",
        "separate-output",
    }
    assert declaration.parameters["required"] == ["command"]
    assert effective_timeout(None, detached=False) == 60
    assert effective_timeout(None, detached=True) is None
    assert effective_timeout(5.0, detached=True) == 5


@pytest.mark.parametrize(
    ("command", "description", "expected"),
    [
        ("make test", None, "make test"),
        ("make test", "  run the\n tests ", "run the"),
        ("cd a\nmake", None, "cd a …"),
        ("echo   a\tb", None, "echo a b"),
        ("x" * 100, None, "x" * 59 + "…"),
        ("   ", None, "shell"),
    ],
)
def test_a_row_has_a_short_label(command: str, description: str | None, expected: str) -> None:
    """The description, else the beginning of the command."""
    assert label(command, description) == expected


async def test_a_detached_command_is_handed_off_at_once(site: Site) -> None:
    """The job's name is the same in every attempt, and its output can be read meanwhile."""
    command = "echo early; while ! [ -e go ]; do sleep 0.02; done; echo late"
    first = await site.detach(command, description="Wait")
    again = await site.detach(command, description="Wait")

    assert first.job == again.job == JobHandoff(job="j-1-1-0", execution=EXECUTION)
    assert first.text.startswith("job j-1-1-0 runs: Wait\n")
    assert f"shell-log:{EXECUTION}" in first.text
    await until(lambda: (site.directory() / "output").read_bytes() == b"early\n")
    assert (await site.read(f"shell-log:{EXECUTION}")).text.endswith("\nearly\n")

    lines: list[str] = []
    watching = asyncio.create_task(watch(site, progress=lines.append))
    await until(lambda: lines == ["early"] or len(lines) > 1)
    (site.workspace / "go").touch()
    end = await watching
    assert end.state is JobState.COMPLETED
    assert end.text == "exit 0\nearly\nlate"
    assert end.details["captures"][0]["complete"] is True


@pytest.mark.parametrize(
    ("command", "timeout", "state", "text"),
    [
        ("exit 0", 60, JobState.COMPLETED, "exit 0\n(no output)"),
        ("exit 2", 60, JobState.FAILED, "exit 2\n(no output)"),
        ("kill -9 $$", 60, JobState.FAILED, "signal 9 (SIGKILL)\n(no output)"),
        ("echo x; sleep 600", 1, JobState.TIMED_OUT, "timeout after 1 s\nx"),
        (f": {'x' * 200_000}", 60, JobState.FAILED, "The command could not be started: "),
    ],
)
async def test_a_job_ends_in_the_state_of_its_command(
    site: Site, command: str, timeout: int, state: JobState, text: str
) -> None:
    """Its text is what the call would have said."""
    await site.detach(command, timeout_seconds=timeout)

    end = await watch(site)

    assert end.state is state
    assert end.text.startswith(text)


async def test_cancelling_a_job_ends_its_command(site: Site) -> None:
    """The watcher is cancelled explicitly; whoever asks later hears so."""
    await site.detach("(trap '' TERM; sleep 600) & touch started; sleep 600")
    await until((site.workspace / "started").exists)
    watching = asyncio.create_task(watch(site))
    await asyncio.sleep(0.1)

    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching

    assert site.survivors() == []
    end = await watch(site)
    assert end.state is JobState.CANCELLED
    assert end.text.startswith("cancelled\n")


async def test_a_stopping_worker_leaves_its_jobs(site: Site) -> None:
    """The next worker goes on watching."""
    await site.detach("while ! [ -e go ]; do sleep 0.02; done")
    stopping = asyncio.Event()
    watching = asyncio.create_task(watch(site, left_running=stopping))
    await asyncio.sleep(0.1)
    stopping.set()
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    (site.workspace / "go").touch()

    assert (await watch(site)).state is JobState.COMPLETED


async def test_an_interrupted_job_is_unknown(site: Site) -> None:
    """Nobody guesses how far it came."""
    await site.detach("touch started; sleep 600")
    await until((site.workspace / "started").exists)
    owner = claim.read(str(site.directory()))
    assert owner is not None
    kill(owner.pid)

    end = await watch(site)

    assert end.state is JobState.UNKNOWN
    assert "inspect what it changed" in end.text
    assert site.survivors() == []
