"""Conversations: who they are and where they work."""

import secrets
import time

from sqlalchemy import Connection, func, select, update

from activities.errors import AmbiguousConversationError, UnknownConversationError
from activities.store.insertion import insert_once
from activities.store.schema import CONVERSATIONS, MESSAGES
from workflows.contracts.base import Contract

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""Base58 (domain reference 21): no characters that look alike."""
ID_LENGTH = 8
PREVIEW_CHARACTERS = 80


class ConversationRecord(Contract):
    """One conversation as the store knows it."""

    id: str
    created: float
    active: float
    """Unix time of the last message."""
    workspace: str
    host: str
    preview: str = ""
    """The beginning of its first message."""


def new_id() -> str:
    """Return a fresh conversation id."""
    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def create(tx: Connection, record: ConversationRecord) -> None:
    """Write *record* unless its id exists."""
    insert_once(tx, CONVERSATIONS, {**record.model_dump(), "last_event": 0})


def find(connection: Connection, abbreviation: str) -> ConversationRecord:
    """Return the conversation whose id is, or begins with, *abbreviation*.

    Raises:
        UnknownConversationError: there is none.
        AmbiguousConversationError: there are several.
    """
    wanted = abbreviation.replace("-", "")
    # A comparison of the beginning, not LIKE: SQLite's LIKE ignores letter case.
    beginning = func.substr(CONVERSATIONS.c.id, 1, len(wanted)) == wanted
    rows = connection.execute(select(CONVERSATIONS).where(beginning).limit(3)).mappings().all()
    exact = [row for row in rows if row["id"] == wanted]
    if not rows or not wanted:
        raise UnknownConversationError(f"There is no conversation {abbreviation!r}")
    if len(rows) > 1 and not exact:
        raise AmbiguousConversationError(f"{abbreviation!r} fits more than one conversation")
    return ConversationRecord.model_validate(dict((exact or rows)[0]))


def get(connection: Connection, conversation: str) -> ConversationRecord:
    """Return the conversation with exactly this id.

    Raises:
        UnknownConversationError: there is none.
    """
    query = select(CONVERSATIONS).where(CONVERSATIONS.c.id == conversation)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise UnknownConversationError(f"There is no conversation {conversation!r}")
    return ConversationRecord.model_validate(dict(row))


def newest_first(connection: Connection, limit: int = 100) -> list[ConversationRecord]:
    """Return up to *limit* conversations, the most recently active first."""
    query = select(CONVERSATIONS).order_by(CONVERSATIONS.c.active.desc()).limit(limit)
    rows = connection.execute(query).mappings()
    return [ConversationRecord.model_validate(dict(row)) for row in rows]


def touch(tx: Connection, conversation: str, text: str) -> None:
    """Note a new message: the time, and the preview if it is the first."""
    row = CONVERSATIONS.c
    tx.execute(update(CONVERSATIONS).where(row.id == conversation).values(active=time.time()))
    first = " ".join(text.split())[:PREVIEW_CHARACTERS]
    unnamed = (row.id == conversation) & (row.preview == "")
    tx.execute(update(CONVERSATIONS).where(unnamed).values(preview=first))


def message_count(connection: Connection, conversation: str) -> int:
    """Return how many messages were ever accepted into the store."""
    query = select(func.count()).where(MESSAGES.c.conversation == conversation)
    return connection.execute(query).scalar_one()
