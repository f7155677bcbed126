"""The register of captures: who owns one, what it holds, what became of it.

A capture is registered before its command is launched, so that nothing is ever
captured that retention does not know of.
"""

import time
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Connection, select, update

from activities.errors import CommandFailed, StoreUnavailable, UnknownOutcome
from activities.shell import retention
from activities.shell.capture_reader import CaptureReader
from activities.shell.outcome import StreamFigures
from activities.store.database import Database
from activities.store.insertion import insert_once
from activities.store.schema import CAPTURES
from workflows.contracts.base import Contract
from workflows.policy.captures import CaptureLimits

PRIVATE = 0o700


class CaptureState(StrEnum):
    """Where a capture stands."""

    ACTIVE = "active"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """Its command was lost; what had been written by then is there."""
    PRUNED = retention.PRUNED


class CapturedStream(Contract):
    """One stream of a capture."""

    limit: int
    final: StreamFigures | None = None
    """The figures, once the command has ended in order."""


class Capture(Contract):
    """One row of the register."""

    execution: str
    conversation: str
    state: CaptureState
    delivered: bool
    streams: dict[str, CapturedStream]

    def uri(self, stream: str) -> str:
        """Return the stable reference of *stream*."""
        suffix = f"/{stream}" if len(self.streams) > 1 else ""
        return f"shell-log:{self.execution}{suffix}"

    def reader(self, root: Path, stream: str) -> CaptureReader:
        """Return a reader of *stream*."""
        captured = self.streams[stream]
        return CaptureReader(root / self.execution / stream, captured.limit, captured.final)


class Captures:
    """The captures below one directory of executions."""

    def __init__(self, database: Database, root: Path) -> None:
        self.root = root
        self._database = database

    async def register(
        self,
        execution: str,
        conversation: str,
        streams: tuple[str, ...],
        limits: CaptureLimits,
    ) -> Capture:
        """Reserve room for *execution*, unless an earlier attempt has done so.

        Raises:
            CommandFailed: running commands and untold results hold all the room.
            StoreUnavailable: nothing can be written, or removed to make room.
            UnknownOutcome: it may have run before, and its records are gone.
        """

        def reserve(tx: Connection) -> Capture:
            known = find(tx, execution)
            if known is None:
                try:
                    self._reserve(tx, execution, conversation, streams, limits)
                except OSError as error:
                    raise StoreUnavailable(f"No capture can be made: {error}") from error
                known = find(tx, execution)
            # Its directory would know whether it ran; without one, nobody does.
            if known is None or not (self.root / execution).is_dir():
                raise UnknownOutcome(
                    "The command was admitted before, and its records are gone: inspect "
                    "what it changed before you repeat it"
                )
            return known

        return await self._database.write(reserve)

    async def conclude(
        self, capture: Capture, figures: dict[str, StreamFigures] | None, *, delivered: bool
    ) -> Capture:
        """Record that a command has ended, in order with *figures*, or interrupted without.

        *delivered* says that the conversation learns of it with the call's own result;
        a detached command is protected from retention until :func:`mark_delivered`.
        """
        streams = {
            name: CapturedStream(
                limit=stream.limit,
                final=None if figures is None else figures.get(name, StreamFigures()),
            )
            for name, stream in capture.streams.items()
        }
        state = CaptureState.INTERRUPTED if figures is None else CaptureState.FINISHED
        reserved = retention.size_of(self.root / capture.execution)
        values = {
            "ended": time.time(),
            "state": state.value,
            "reserved": reserved,
            "streams": {name: stream.model_dump() for name, stream in streams.items()},
        }

        def record(tx: Connection) -> Capture:
            mine = CAPTURES.c.execution == capture.execution
            still_open = CAPTURES.c.state == CaptureState.ACTIVE.value
            tx.execute(update(CAPTURES).where(mine & still_open).values(**values))
            if delivered:
                mark_delivered(tx, capture.execution)
            return find(tx, capture.execution) or capture

        return await self._database.write(record)

    async def find(self, execution: str) -> Capture | None:
        """Return the capture of *execution*, or None when there never was one."""
        return await self._database.read(lambda connection: find(connection, execution))

    def _reserve(
        self,
        tx: Connection,
        execution: str,
        conversation: str,
        streams: tuple[str, ...],
        limits: CaptureLimits,
    ) -> None:
        self.root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        limit = retention.make_room(tx, self.root, streams=len(streams), limits=limits)
        if not limit:
            raise CommandFailed(
                "There is no room for another capture: running commands and results that "
                "were not delivered yet hold it all; wait for a job or cancel one"
            )
        # From now on it counts: a capture takes up room where its directory is.
        (self.root / execution).mkdir(mode=PRIVATE, exist_ok=True)
        row = {
            "execution": execution,
            "conversation": conversation,
            "created": time.time(),
            "state": CaptureState.ACTIVE.value,
            "reserved": limit * len(streams),
            "delivered": False,
            "streams": {name: CapturedStream(limit=limit).model_dump() for name in streams},
        }
        insert_once(tx, CAPTURES, row)


def find(connection: Connection, execution: str) -> Capture | None:
    """Return the capture of *execution*, or None when there never was one."""
    query = select(CAPTURES).where(CAPTURES.c.execution == execution)
    row = connection.execute(query).mappings().one_or_none()
    return Capture.model_validate(dict(row)) if row else None


def mark_delivered(tx: Connection, execution: str) -> None:
    """Note that the conversation knows how *execution* ended; retention may have it."""
    tx.execute(update(CAPTURES).where(CAPTURES.c.execution == execution).values(delivered=True))
