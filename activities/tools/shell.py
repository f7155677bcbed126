"""``shell.run``: one command of the model, in the foreground or as a job."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from activities.errors import AccessDenied, CommandFailed, InvalidArguments, UnknownOutcome
from activities.shell.ending import Ending
from activities.shell.invocation import Command, Invocation
from activities.shell.outcome import Outcome
from activities.shell.sandbox import isolate
from activities.store.database import Database
from activities.tools.tool import Arguments, Tool, ToolContext, ToolResult
from workflows.contracts.job import JobState
from workflows.contracts.permission import Grant
from workflows.contracts.tool import CallStatus, Concurrency, EffectClass, JobHandoff
from workflows.policy.captures import CaptureLimits
from workflows.policy.commands import (
    SHORTEST_TIMEOUT,
    TIMEOUT,
    effective_timeout,
    job_id,
    label,
)

SHELL = "/bin/sh"
_DEFAULT_TIMEOUT = f"{TIMEOUT.total_seconds():g}"


class ShellArguments(Arguments):
    """What ``shell.run`` takes."""

    command: str = Field(min_length=1, description="a command for the POSIX shell")
    directory: str | None = Field(
        default=None, description="where it runs, within the workspace (default: the workspace)"
    )
    timeout_seconds: float | None = Field(
        default=None,
        ge=SHORTEST_TIMEOUT.total_seconds(),
        allow_inf_nan=False,
        description=f"default {_DEFAULT_TIMEOUT}, with async none",
    )
    detached: bool = Field(
        default=False,
        alias="async",
        description="return at once and leave the command running as a job",
    )
    description: str | None = Field(default=None, description="a short label of what it does")
    separate_output: bool = Field(
        default=False, description="capture stdout and stderr each on its own"
    )


class ShellRun(Tool[ShellArguments]):
    """Runs commands that survive the worker.

    *private* directories do not exist for a sandboxed command: state, data, and
    configuration of Autolith.
    """

    name = "shell.run"
    description = (
        "Run a command in the POSIX shell and return its exit status and a preview of its "
        "output, stdout and stderr together. The whole output stays readable by its "
        "shell-log: reference. Standard input is empty. Processes left in the background "
        "are ended with the command; use async for what has to stay."
    )
    effect = EffectClass.ADOPTABLE
    concurrency = Concurrency.CONCURRENT
    asks = True
    arguments = ShellArguments

    def __init__(
        self, *, private: tuple[Path, ...] = (), limits: CaptureLimits | None = None
    ) -> None:
        self._private = private
        self._limits = limits or CaptureLimits()

    def label(self, arguments: ShellArguments) -> str:
        """Return the description, or the beginning of the command."""
        return label(arguments.command, arguments.description)

    def question(self, arguments: ShellArguments) -> str:
        """Return the command itself, and where it would run if not in the workspace."""
        where = f"in {arguments.directory}: " if arguments.directory else ""
        return f"{where}{arguments.command}"

    async def run(self, arguments: ShellArguments, context: ToolContext) -> ToolResult:
        """Run the command, or find the one that an earlier attempt has started.

        Raises:
            AccessDenied: the directory is outside of the workspace.
            CommandFailed: the command could not be started.
            SandboxUnavailable: it has to be isolated and cannot be.
            UnknownOutcome: an earlier attempt started it, and it was interrupted.
        """
        invocation = Invocation(
            context.key.execution,
            context.key.conversation,
            state_root=context.state_root,
            database=context.database,
            delivered=not arguments.detached,
        )
        async with invocation.ended_with_us(context.left_running):
            if not invocation.is_started:
                # The search for Git metadata can take a moment in a large workspace.
                command = await asyncio.to_thread(self._command, arguments, context)
                await invocation.start(command, self._limits)
            if arguments.detached:
                return _handed_off(arguments, context)
            return _result(await invocation.watch(context.progress))

    def _command(self, arguments: ShellArguments, context: ToolContext) -> Command:
        if "\0" in arguments.command:
            raise InvalidArguments("A command cannot contain a NUL character")
        directory = _directory(arguments.directory, context.workspace)
        argv = [SHELL, "-c", arguments.command]
        sandboxed = context.grant is not Grant.FULL
        if sandboxed:
            private = (context.state_root, context.objects.root, *self._private)
            argv = isolate(argv, workspace=context.workspace, directory=directory, private=private)
        timeout = effective_timeout(arguments.timeout_seconds, detached=arguments.detached)
        return Command(argv, directory, timeout, arguments.separate_output, sandboxed)


@dataclass(frozen=True)
class JobEnd:
    """How a detached command ended, for its job."""

    state: JobState
    text: str
    details: dict[str, Any] = field(default_factory=dict)


async def watch_execution(
    execution: str,
    conversation: str,
    *,
    state_root: Path,
    database: Database,
    progress: Callable[[str], None] = lambda _line: None,
    left_running: asyncio.Event | None = None,
) -> JobEnd:
    """Wait for the end of a detached command and return what its job has to tell.

    Cancelling this ends the command with everything it started, unless the worker stops
    and *left_running* is set.
    """
    invocation = Invocation(
        execution,
        conversation,
        state_root=state_root,
        database=database,
        delivered=False,
    )
    async with invocation.ended_with_us(left_running or asyncio.Event()):
        try:
            ending = await invocation.watch(progress)
        except UnknownOutcome as error:
            return JobEnd(JobState.UNKNOWN, str(error))
        except CommandFailed as error:
            return JobEnd(JobState.FAILED, str(error))
    return JobEnd(_state(ending.outcome), ending.text, ending.details)


def _directory(named: str | None, workspace: Path) -> Path:
    root = workspace.resolve()
    try:
        directory = (root / (named or ".")).resolve()
    except (ValueError, RuntimeError, OSError) as error:
        raise InvalidArguments(f"directory: {named!r} is not a path: {error}") from error
    if not directory.is_relative_to(root):
        raise AccessDenied(f"{named} is outside of the workspace {root}")
    if not directory.is_dir():
        raise CommandFailed(f"{named or root} is not a directory")
    return directory


def _handed_off(arguments: ShellArguments, context: ToolContext) -> ToolResult:
    execution = context.key.execution
    handoff = JobHandoff(job=job_id(context.key), execution=execution)
    names = ("/stdout", "/stderr") if arguments.separate_output else ("",)
    uris = [f"shell-log:{execution}{name}" for name in names]
    text = (
        f"job {handoff.job} runs: {label(arguments.command, arguments.description)}\n"
        f"Its output so far: resource.read {' and '.join(uris)}. You are told when it ends."
    )
    return ToolResult(text, {"captures": [{"uri": uri} for uri in uris]}, job=handoff)


def _result(ending: Ending) -> ToolResult:
    status = CallStatus.OK
    if ending.outcome.timed_out:
        status = CallStatus.ERROR
    elif ending.outcome.cancelled:
        status = CallStatus.CANCELLED
    return ToolResult(ending.text, ending.details, status)


def _state(outcome: Outcome) -> JobState:
    if outcome.timed_out:
        return JobState.TIMED_OUT
    if outcome.cancelled:
        return JobState.CANCELLED
    return JobState.COMPLETED if outcome.status == 0 else JobState.FAILED
