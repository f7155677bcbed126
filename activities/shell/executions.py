"""Executions: commands that outlive whoever started them.

An execution is a directory named by its id.  Its claim decides who runs it, and its
outcome is written once by its runner; everybody else only reads those, so any process
can watch, adopt or cancel it, also after a crash or a restart of the machine.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from activities.errors import CommandFailed, StoreUnavailable
from activities.shell import claim, outcome, processes, records
from activities.shell.claim import Claim
from activities.shell.environment import EXECUTION_VARIABLE
from activities.shell.exits import watching
from activities.shell.outcome import Outcome
from activities.shell.specification import Specification
from workflows.policy.commands import (
    KILL_PATIENCE,
    LINGER,
    PROGRESS_EVERY,
    TERMINATION_GRACE,
)

RUNNER = Path(__file__).with_name("runner.py")
INTERPRETER = (sys.executable, "-I", "-S", "-E", str(RUNNER))
CANCEL_PATIENCE = 2 * (TERMINATION_GRACE + KILL_PATIENCE + LINGER)
"""A runner that has not ended what it runs by then is stuck itself."""


class Phase(StrEnum):
    """Where an execution stands."""

    UNSTARTED = "unstarted"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """Its runner is gone without an outcome: nobody knows how far the command came."""


@dataclass(frozen=True)
class Standing:
    """What can be known about an execution now."""

    phase: Phase
    outcome: Outcome | None = None
    owner: Claim | None = None
    reason: str = ""
    """Why it was interrupted."""


class Executions:
    """The executions below one private directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def directory(self, execution: str) -> Path:
        """Return where *execution* keeps its records and captures."""
        return self.root / execution

    async def start_or_adopt(
        self, execution: str, specification: Specification, environment: Mapping[str, str]
    ) -> None:
        """Make sure that *execution* has been started, by this call or an earlier one.

        However often and wherever it is called: the command starts at most once.

        Raises:
            CommandFailed: no runner could be started.
            StoreUnavailable: the directory cannot be written.
        """
        await asyncio.to_thread(self._start, execution, specification, environment)

    def look(self, execution: str) -> Standing:
        """Say where *execution* stands."""
        directory = str(self.directory(execution))
        try:
            owner = claim.read(directory)
        except ValueError:
            return Standing(Phase.INTERRUPTED, reason="its claim is damaged")
        if owner is None:
            return Standing(Phase.UNSTARTED)
        if owner.is_withdrawn:
            return Standing(Phase.FINISHED, Outcome(cancelled=True), owner)
        running = owner.is_running
        # In this order: a runner that was gone has written its outcome before.
        if (ended := _outcome(directory)) is not None:
            return Standing(Phase.FINISHED, ended, owner)
        if running:
            return Standing(Phase.RUNNING, owner=owner)
        lost = "its runner died" if owner.is_of_this_boot else "the machine was restarted"
        return Standing(Phase.INTERRUPTED, owner=owner, reason=lost)

    async def watch(
        self, execution: str, while_running: Callable[[], None] = lambda: None
    ) -> Standing:
        """Wait until *execution* does not run any more and return where it stands.

        *while_running* is called about twice a second.  Cancelling this leaves the
        command alone.
        """
        standing = self.look(execution)
        if standing.phase is Phase.RUNNING and standing.owner:
            with watching(standing.owner.pid, standing.owner.start) as runner:
                while not await runner.ends_within(PROGRESS_EVERY.total_seconds()):
                    while_running()
            standing = self.look(execution)
        if standing.phase is Phase.INTERRUPTED:
            await asyncio.to_thread(_end_remains, self.directory(execution))
        return standing

    async def cancel(self, execution: str) -> Standing:
        """End *execution* with everything it started, or keep it from ever starting."""
        directory = self.directory(execution)
        if not directory.is_dir() or claim.withdraw(str(directory)):
            return self.look(execution)
        standing = self.look(execution)
        if standing.phase is Phase.RUNNING and standing.owner:
            with watching(standing.owner.pid, standing.owner.start) as runner:
                runner.send(signal.SIGTERM)
                if not await runner.ends_within(CANCEL_PATIENCE.total_seconds()):
                    runner.send(signal.SIGKILL)
                    await runner.ended.wait()
        return await self.watch(execution)

    def _start(
        self, execution: str, specification: Specification, environment: Mapping[str, str]
    ) -> None:
        directory = self.directory(execution)
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
            if self.look(execution).phase is not Phase.UNSTARTED:
                return
            specification.save(str(directory))
            started = subprocess.run(  # noqa: S603 -- our own interpreter and runner
                [*INTERPRETER, str(directory)],
                env={**environment, EXECUTION_VARIABLE: str(directory)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
                check=False,
            )
        except OSError as error:
            raise StoreUnavailable(f"The command cannot be started: {error}") from error
        if started.returncode:
            complaint = started.stderr.decode(errors="replace").strip().splitlines()
            raise CommandFailed(f"The runner did not start: {(complaint or ['no reason'])[-1]}")


def _outcome(directory: str) -> Outcome | None:
    try:
        record = records.read(directory, records.OUTCOME)
    except ValueError:
        # The machine went down while it was written: the claim's boot id will tell.
        return None
    return outcome.parse(record) if record else None


def _end_remains(directory: Path) -> None:
    """Kill what a killed runner could not: it bears the name of its execution."""
    for pid in processes.bearing(EXECUTION_VARIABLE, str(directory)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
