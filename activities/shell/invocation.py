"""One authorized command: its execution, its capture, and what it has to say.

The tool and the watcher of a job are both thin layers over this, so a command says
the same whether somebody waited for it or not.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from activities.errors import CommandFailed, UnknownOutcome
from activities.shell.captures import Capture, Captures
from activities.shell.ending import Ending, counts, describe, describe_streams
from activities.shell.environment import child_environment
from activities.shell.executions import Executions, Phase, Standing
from activities.shell.progress import newest_line
from activities.shell.specification import COMBINED, SEPARATE, Specification
from activities.store.database import Database
from workflows.policy.captures import CaptureLimits
from workflows.policy.commands import KILL_PATIENCE, LINGER, TERMINATION_GRACE

DIRECTORY = "executions"


def executions_root(state_root: Path) -> Path:
    """Return where the executions of one state root live."""
    return state_root / DIRECTORY


@dataclass(frozen=True)
class Command:
    """What to run."""

    argv: list[str]
    directory: Path
    timeout: float | None
    separate: bool = False
    sandboxed: bool = False

    def specification(self, capture: Capture) -> Specification:
        """Return the record for the runner."""
        return Specification(
            argv=self.argv,
            directory=str(self.directory),
            timeout=self.timeout,
            limit=min(stream.limit for stream in capture.streams.values()),
            grace=TERMINATION_GRACE.total_seconds(),
            linger=LINGER.total_seconds(),
            patience=KILL_PATIENCE.total_seconds(),
            separate=self.separate,
            sandboxed=self.sandboxed,
            lc_ctype=os.environ.get("LC_CTYPE"),
        )


class Invocation:
    """One execution of one conversation.

    *delivered* says that the conversation learns of the end with the call's own result.
    """

    def __init__(
        self,
        execution: str,
        conversation: str,
        *,
        state_root: Path,
        database: Database,
        delivered: bool,
    ) -> None:
        self.execution = execution
        self._conversation = conversation
        self._delivered = delivered
        self._root = executions_root(state_root)
        self._executions = Executions(self._root)
        self._captures = Captures(database, self._root)

    @property
    def is_started(self) -> bool:
        """Whether an earlier attempt has started the command."""
        return self._executions.look(self.execution).phase is not Phase.UNSTARTED

    async def start(self, command: Command, limits: CaptureLimits) -> None:
        """Start the command, unless an earlier attempt has.

        Raises:
            CommandFailed: there is no room for its output, or no runner could start.
            UnknownOutcome: it may have run before, and its records are gone.
        """
        streams = SEPARATE if command.separate else COMBINED
        capture = await self._captures.register(
            self.execution, self._conversation, streams, limits
        )
        await self._executions.start_or_adopt(
            self.execution, command.specification(capture), child_environment()
        )

    async def watch(self, progress: Callable[[str], None]) -> Ending:
        """Wait for the end of the command, showing its newest line meanwhile.

        Raises:
            CommandFailed: it could not be started.
            UnknownOutcome: it was interrupted, and nobody knows how far it came.
        """
        capture = await self._capture()
        readers = [capture.reader(self._root, name) for name in capture.streams]

        def show() -> None:
            # A capture is there as soon as the runner gets to it.
            if all(reader.path.exists() for reader in readers) and (line := newest_line(readers)):
                progress(line)

        standing = await self._executions.watch(self.execution, show)
        return await self._conclude(capture, standing)

    async def cancel(self) -> None:
        """End the command with everything it started, or keep it from ever starting."""
        standing = await self._executions.cancel(self.execution)
        capture = await self._captures.find(self.execution)
        if capture and standing.outcome:
            await self._captures.conclude(
                capture, standing.outcome.streams, delivered=self._delivered
            )

    @asynccontextmanager
    async def ended_with_us(self, left_running: asyncio.Event) -> AsyncIterator[None]:
        """End the command when this task is cancelled, unless it is to be *left_running*."""
        try:
            yield
        except asyncio.CancelledError:
            if not left_running.is_set():
                # Whoever is impatient may cancel again; the command ends all the same.
                await asyncio.shield(asyncio.ensure_future(self.cancel()))
            raise

    async def _capture(self) -> Capture:
        capture = await self._captures.find(self.execution)
        if capture is None:
            raise UnknownOutcome(f"{self.execution} was never registered here")
        return capture

    async def _conclude(self, capture: Capture, standing: Standing) -> Ending:
        outcome = standing.outcome
        figures = outcome.streams if outcome else None
        capture = await self._captures.conclude(capture, figures, delivered=self._delivered)
        if outcome is None:
            raise UnknownOutcome(self._unknown(capture, standing))
        if outcome.failure:
            raise CommandFailed(f"The command could not be started: {outcome.failure}")
        return describe(outcome, capture, self._root)

    def _unknown(self, capture: Capture, standing: Standing) -> str:
        reason = standing.reason or "its records are gone"
        captured = "; ".join(
            f"{stream['uri']}: {counts(stream)}"
            for stream in describe_streams(capture, self._root)
        )
        return (
            f"The command was interrupted ({reason}) and its outcome is unknown: inspect what "
            f"it changed before you repeat it. Its output until then: {captured}"
        )
