"""One state root, one workspace, and the tools over them."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from activities.shell import processes
from activities.shell.captures import Capture, Captures, find
from activities.shell.environment import EXECUTION_VARIABLE
from activities.shell.executions import Executions
from activities.shell.invocation import executions_root
from activities.store.database import Database
from activities.store.objects import ObjectDirectory
from activities.tools.resource_kind import ReadArguments
from activities.tools.shell import ShellArguments, ShellRun
from activities.tools.shell_log import ShellLog
from activities.tools.tool import ToolContext, ToolResult
from workflows.contracts.key import CallKey
from workflows.contracts.permission import Grant
from workflows.policy.captures import CaptureLimits

CONVERSATION = "Conv1"
DEADLINE = 30.0


@dataclass
class Site:
    """Everything a command needs, below one temporary directory."""

    root: Path
    limits: CaptureLimits = field(default_factory=CaptureLimits)
    private: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Make the directories and the store."""
        self.workspace = self.root / "workspace"
        self.state = self.root / "state"
        for directory in (self.workspace, self.state):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.database = Database.open(f"sqlite:///{self.root / 'store.db'}")
        self.executions = Executions(executions_root(self.state))

    def context(self, ordinal: int = 0, **changes: Any) -> ToolContext:
        """Return where the call at *ordinal* of the first request runs."""
        key = CallKey(conversation=CONVERSATION, turn=1, request=1, ordinal=ordinal)
        facts: dict[str, Any] = {
            "key": key,
            "workspace": self.workspace,
            "database": self.database,
            "objects": ObjectDirectory(self.root / "objects"),
            "state_root": self.state,
            "grant": Grant.FULL,
        }
        return ToolContext(**{**facts, **changes})

    async def run(
        self, command: str, context: ToolContext | None = None, **rest: Any
    ) -> ToolResult:
        """Run *command*; the further arguments have the tool's own names."""
        words = {name.replace("_", "-"): value for name, value in rest.items()}
        arguments = ShellArguments.model_validate({"command": command, **words})
        tool = ShellRun(private=self.private, limits=self.limits)
        return await tool.run(arguments, context or self.context())

    async def detach(
        self, command: str, context: ToolContext | None = None, **rest: Any
    ) -> ToolResult:
        """Leave *command* running as a job."""
        return await self.run(command, context or self.context(), **rest, **{"async": True})

    async def read(self, uri: str, context: ToolContext | None = None, **rest: Any) -> ToolResult:
        """Read a ``shell-log:`` reference."""
        words = {name.replace("_", "-"): value for name, value in rest.items()}
        arguments = ReadArguments.model_validate({"uri": uri, **words})
        identifier = uri.removeprefix("shell-log:")
        return await ShellLog().read(identifier, arguments, context or self.context())

    async def register(self, ordinal: int = 0) -> Capture:
        """Register a capture for the call at *ordinal*, as if it were about to start."""
        captures = Captures(self.database, self.executions.root)
        execution = self.context(ordinal).key.execution
        return await captures.register(execution, CONVERSATION, ("output",), self.limits)

    def capture(self, ordinal: int = 0) -> Capture:
        """Return the registered capture of the call at *ordinal*."""
        execution = self.context(ordinal).key.execution
        capture = self.database.read_now(lambda connection: find(connection, execution))
        assert capture is not None
        return capture

    def directory(self, ordinal: int = 0) -> Path:
        """Return the execution directory of the call at *ordinal*."""
        return self.executions.directory(self.context(ordinal).key.execution)

    def survivors(self, ordinal: int = 0) -> list[int]:
        """Return the living processes of the execution of the call at *ordinal*."""
        bearing = processes.bearing(EXECUTION_VARIABLE, str(self.directory(ordinal)))
        found = [processes.find(pid) for pid in bearing]
        return [process.pid for process in found if process and process.is_alive]

    def close(self) -> None:
        """Leave nothing running."""
        self.database.close()
        if self.executions.root.is_dir():
            for directory in self.executions.root.iterdir():
                for pid in processes.bearing(EXECUTION_VARIABLE, str(directory)):
                    kill(pid)


def kill(pid: int) -> None:
    """Send SIGKILL to *pid*, which may have ended just now."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


async def until(fact: Callable[[], object]) -> None:
    """Wait for *fact*, but not for ever."""
    deadline = time.monotonic() + DEADLINE
    while not fact():
        assert time.monotonic() < deadline, "it did not become true in time"
        await asyncio.sleep(0.02)
