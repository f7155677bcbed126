"""The event log: append, read after a cursor, prune what an item has replaced.

``seq`` is taken from the conversation's row inside the writing transaction, so it
is gapless and grows in commit order on every database: a reader that has seen N
never misses a row that commits later with a smaller number.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from activities.errors import UnknownConversationError
from activities.store.schema import CONVERSATIONS, EVENTS
from workflows.contracts.event import DELTAS, Event, EventKind
from workflows.contracts.key import RequestKey

PAGE = 1_000
"""How many events one read returns at most."""


@dataclass(frozen=True)
class Entry:
    """An event that has no place in the log yet."""

    kind: EventKind
    body: dict[str, Any]
    turn: int = 0
    request: int = 0

    @classmethod
    def of(cls, key: RequestKey, kind: EventKind, **body: object) -> "Entry":
        """Return an entry that belongs to one request."""
        return cls(kind, dict(body), key.turn, key.request)


def append(tx: Connection, conversation: str, entries: Sequence[Entry]) -> int:
    """Append *entries* and return the cursor after them.

    Raises:
        UnknownConversationError: there is no such conversation.
    """
    row = CONVERSATIONS.c
    bump = (
        update(CONVERSATIONS)
        .where(row.id == conversation)
        .values(last_event=row.last_event + len(entries))
        .returning(row.last_event)
    )
    last = tx.execute(bump).scalar_one_or_none()
    if last is None:
        raise UnknownConversationError(f"There is no conversation {conversation!r}")
    now = time.time()
    rows = [
        {
            "conversation": conversation,
            "seq": last - len(entries) + place,
            "turn": entry.turn,
            "request": entry.request,
            "kind": entry.kind.value,
            "at": now,
            "body": entry.body,
        }
        for place, entry in enumerate(entries, 1)
    ]
    if rows:
        tx.execute(insert(EVENTS), rows)
    return int(last)


def after(connection: Connection, conversation: str, cursor: int) -> list[Event]:
    """Return up to ``PAGE`` events that follow *cursor*, oldest first."""
    row = EVENTS.c
    query = (
        select(EVENTS)
        .where(row.conversation == conversation, row.seq > cursor)
        .order_by(row.seq)
        .limit(PAGE)
    )
    return [Event.model_validate(dict(found)) for found in connection.execute(query).mappings()]


def last(connection: Connection, conversation: str) -> int:
    """Return the cursor of the newest event, 0 when there is none."""
    query = select(CONVERSATIONS.c.last_event).where(CONVERSATIONS.c.id == conversation)
    return int(connection.execute(query).scalar_one_or_none() or 0)


def before_newest(connection: Connection, conversation: str, entries: int) -> int:
    """Return the cursor before the newest *entries* events, 0 when there are fewer."""
    row = EVENTS.c
    query = (
        select(row.seq)
        .where(row.conversation == conversation)
        .order_by(row.seq.desc())
        .offset(entries)
        .limit(1)
    )
    return int(connection.execute(query).scalar_one_or_none() or 0)


def newest(connection: Connection, conversation: str) -> list[Event]:
    """Return the newest ``PAGE`` events, oldest first."""
    return after(connection, conversation, before_newest(connection, conversation, PAGE))


def partial_text(connection: Connection, key: RequestKey, attempt: int) -> str:
    """Return the text that one attempt had streamed so far."""
    row = EVENTS.c
    query = (
        select(row.body)
        .where(
            row.conversation == key.conversation,
            row.turn == key.turn,
            row.request == key.request,
            row.kind == EventKind.TEXT.value,
        )
        .order_by(row.seq)
    )
    bodies = connection.execute(query).scalars()
    return "".join(body["text"] for body in bodies if body["attempt"] == attempt)


def prune(tx: Connection, key: RequestKey, kinds: Sequence[EventKind] = DELTAS) -> None:
    """Drop the deltas of one request: its items have landed."""
    row = EVENTS.c
    tx.execute(
        delete(EVENTS).where(
            row.conversation == key.conversation,
            row.turn == key.turn,
            row.request == key.request,
            row.kind.in_([kind.value for kind in kinds]),
        )
    )
