"""Text deltas on their way to the screens, in batches of about 40 ms (design: The store)."""

import asyncio
from contextlib import suppress

from activities.provider.adapter import Delta, DeltaKind
from activities.store.database import Database
from activities.store.events import Entry, append
from workflows.contracts.event import EventKind
from workflows.contracts.key import RequestKey

INTERVAL_SECONDS = 0.04
FIRST_PAUSE_SECONDS = 0.003
"""A reply that comes all at once lands within this time and needs no deltas."""
KINDS = {DeltaKind.TEXT: EventKind.TEXT, DeltaKind.REASONING: EventKind.REASONING}


class DeltaBatch:
    """Writes the first delta nearly at once and the following ones in batches.

    Deltas bridge the time until the items land, so they need not survive a power
    failure; they do survive the worker.
    """

    def __init__(self, database: Database, key: RequestKey, attempt: int) -> None:
        self._database = database
        self._key = key
        self._attempt = attempt
        self._pending: list[Delta] = []
        self._arrived = asyncio.Event()
        self.has_written = False
        """Whether there are deltas to be pruned when the items land."""
        self._pump = asyncio.create_task(self._run())

    def add(self, delta: Delta) -> None:
        """Take one delta; pieces of call arguments are not shown."""
        if delta.kind in KINDS and delta.text:
            self._pending.append(delta)
            self._arrived.set()

    async def close(self, *, keep: bool) -> None:
        """Stop; *keep* writes what is pending, for an attempt that has no items to land."""
        self._pump.cancel()
        # The pump may be inside a write, which must not land after the items.
        with suppress(asyncio.CancelledError):
            await self._pump
        if keep:
            await self._write()

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await asyncio.sleep(FIRST_PAUSE_SECONDS)
            # Shielded: a write that has begun is finished before close() returns.
            writing = asyncio.ensure_future(self._write())
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await writing
                raise
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _write(self) -> None:
        entries = [
            Entry.of(self._key, KINDS[kind], attempt=self._attempt, text=text)
            for kind, text in _joined(self._pending)
        ]
        self._pending.clear()
        if entries:
            self.has_written = True
            conversation = self._key.conversation
            await self._database.write(lambda tx: append(tx, conversation, entries), durable=False)


def _joined(deltas: list[Delta]) -> list[tuple[DeltaKind, str]]:
    """Join neighbours of one kind, keeping the order of kinds."""
    runs: list[tuple[DeltaKind, list[str]]] = []
    for delta in deltas:
        if runs and runs[-1][0] is delta.kind:
            runs[-1][1].append(delta.text)
        else:
            runs.append((delta.kind, [delta.text]))
    return [(kind, "".join(texts)) for kind, texts in runs]
