"""Observations: what a conversation has seen of a resource, under a short alias.

An alias belongs to one conversation and one content of one resource, so seeing the
same content again adds to what was shown.  Only the newest are kept.
"""

import base64
import hashlib
import math
import time
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from activities.store.schema import OBSERVATIONS
from activities.workspace.ranges import Ranges, merged
from workflows.policy.resources import OBSERVATIONS_PER_KIND

ALIAS_CHARACTERS = 16
"""An opaque conversation-local alias like R plus 16 characters (domain reference 5.2)."""


@dataclass(frozen=True)
class Observation:
    """One content of one resource, and which of its lines were shown."""

    kind: str
    uri: str
    digest: str
    size: int = 0
    shown: Ranges = ()

    def alias(self, conversation: str) -> str:
        """Return the revision that *conversation* knows it by."""
        name = "\0".join((conversation, self.kind, self.uri, self.digest))
        digest = hashlib.sha256(name.encode()).digest()
        return "R" + base64.b32encode(digest).decode()[:ALIAS_CHARACTERS]


@dataclass(frozen=True)
class Recorded:
    """The outcome of recording: the revision, and contents that nobody refers to now."""

    revision: str
    unreferenced: frozenset[str] = frozenset()


def record(
    tx: Connection, conversation: str, seen: Observation, *, capacity: int | None = None
) -> Recorded:
    """Keep *seen* as the newest observation and evict the oldest of its kind.

    *capacity* bounds the sizes of all that are kept, in bytes.
    """
    alias = seen.alias(conversation)
    earlier = find(tx, conversation, alias)
    shown = merged(seen.shown + (earlier.shown if earlier else ()))
    row = {
        "conversation": conversation,
        "alias": alias,
        "kind": seen.kind,
        "uri": seen.uri,
        "digest": seen.digest,
        "size": seen.size,
        "shown": [list(lines) for lines in shown],
        "created": _now(tx, conversation),
    }
    _insert(tx, OBSERVATIONS, row)
    return Recorded(alias, _evict(tx, conversation, seen.kind, capacity))


def find(connection: Connection, conversation: str, alias: str) -> Observation | None:
    """Return what *alias* stands for, or None when it was evicted or never given out."""
    row = OBSERVATIONS.c
    query = select(OBSERVATIONS).where((row.conversation == conversation) & (row.alias == alias))
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        return None
    shown = tuple((first, last) for first, last in found["shown"])
    return Observation(found["kind"], found["uri"], found["digest"], found["size"], shown)


def _insert(tx: Connection, table: Table, row: dict[str, object]) -> None:
    dialect = postgresql if tx.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).values(row)
    newer = {name: row[name] for name in ("shown", "created")}
    tx.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=newer))


def _now(tx: Connection, conversation: str) -> float:
    """Return a time after every earlier one: a clock may stand still or go back."""
    query = select(func.max(OBSERVATIONS.c.created)).where(
        OBSERVATIONS.c.conversation == conversation
    )
    newest = tx.execute(query).scalar_one_or_none() or 0.0
    return max(time.time(), math.nextafter(newest, math.inf))


def _evict(tx: Connection, conversation: str, kind: str, capacity: int | None) -> frozenset[str]:
    row = OBSERVATIONS.c
    own = (row.conversation == conversation) & (row.kind == kind)
    query = select(row.alias, row.digest, row.size).where(own).order_by(row.created.desc())
    kept, size, evicted = 0, 0, []
    for alias, digest, bytes_ in tx.execute(query).all():
        size += bytes_
        kept += 1
        if kept > OBSERVATIONS_PER_KIND or (capacity is not None and size > capacity):
            evicted.append((alias, digest))
    if not evicted:
        return frozenset()
    aliases = [alias for alias, _ in evicted]
    tx.execute(delete(OBSERVATIONS).where(own & row.alias.in_(aliases)))
    digests = {digest for _, digest in evicted}
    referenced = select(row.digest).where(row.digest.in_(digests))
    return frozenset(digests - set(tx.execute(referenced).scalars()))
