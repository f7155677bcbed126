"""The newest output line of a running call, as an event that bridges the time to its result."""

import asyncio
import time

from sqlalchemy import Connection

from activities.store import items
from activities.store.database import Database
from activities.store.events import Entry, append
from workflows.contracts.event import EventKind
from workflows.contracts.key import CallKey

LINE_CHARACTERS = 200
INTERVAL_SECONDS = 0.5


class OutputLine:
    """Shows at most two lines a second; a line that comes sooner is dropped."""

    def __init__(self, database: Database, key: CallKey) -> None:
        self._database = database
        self._key = key
        self._shown_at = 0.0
        self._writing: asyncio.Task[None] | None = None

    def show(self, line: str) -> None:
        """Show *line* unless one was shown just now."""
        busy = self._writing is not None and not self._writing.done()
        if busy or time.monotonic() - self._shown_at < INTERVAL_SECONDS:
            return
        self._shown_at = time.monotonic()
        self._writing = asyncio.create_task(self._write(line[:LINE_CHARACTERS]))

    def close(self) -> None:
        """Stop showing lines."""
        if self._writing is not None:
            self._writing.cancel()

    async def _write(self, line: str) -> None:
        key = self._key
        entry = Entry.of(key, EventKind.CALL_OUTPUT, ordinal=key.ordinal, line=line)

        def append_line(tx: Connection) -> None:
            # A line that was queued before the result must not outlive it.
            if not items.has_result(tx, key, key.ordinal):
                append(tx, key.conversation, [entry])

        await self._database.write(append_line, durable=False)
