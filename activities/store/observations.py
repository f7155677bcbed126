"""Observations: what a conversation has seen of a resource, under a short alias.

An alias belongs to one conversation and one content of one resource, so seeing the
same content again adds to what was shown.  Only the newest are kept.
"""

import base64
import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Insert, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from activities.store.schema import OBSERVATIONS
from activities.workspace.ranges import Ranges, merged
from workflows.policy.resources import OBSERVATIONS_PER_KIND

ALIAS_CHARACTERS = 16
"""An opaque conversation-local alias like R plus 16 characters (domain reference 5.2)."""


def _upsert(dialect: Any) -> Insert:
    statement = dialect.insert(OBSERVATIONS)
    newer = {name: statement.excluded[name] for name in ("shown", "created")}
    keys = OBSERVATIONS.primary_key
    upsert: Insert = statement.on_conflict_do_update(index_elements=keys, set_=newer)
    return upsert


# Built once: putting a statement together takes longer than running it.
_UPSERT = {"sqlite": _upsert(sqlite), "postgresql": _upsert(postgresql)}
_OF_CONVERSATION = select(OBSERVATIONS).where(
    OBSERVATIONS.c.conversation == bindparam("conversation")
)


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
        # None of the parts holds a space.
        name = f"{conversation} {self.kind} {self.uri} {self.digest}"
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
    rows = tx.execute(_OF_CONVERSATION, {"conversation": conversation})
    known = {found["alias"]: dict(found) for found in rows.mappings()}
    earlier = _ranges(known[alias]["shown"]) if alias in known else ()
    newest = max((found["created"] for found in known.values()), default=0.0)
    row: dict[str, Any] = {
        "conversation": conversation,
        "alias": alias,
        "kind": seen.kind,
        "uri": seen.uri,
        "digest": seen.digest,
        "size": seen.size,
        "shown": [list(lines) for lines in merged(seen.shown + earlier)],
        # After every earlier one, though a clock may stand still or go back.
        "created": max(time.time(), math.nextafter(newest, math.inf)),
    }
    _put(tx, row)
    rivals = [other for other in (known | {alias: row}).values() if other["kind"] == seen.kind]
    outdated = _outdated(rivals, capacity)
    return Recorded(alias, _evict(tx, conversation, outdated))


def find(connection: Connection, conversation: str, alias: str) -> Observation | None:
    """Return what *alias* stands for, or None when it was evicted or never given out."""
    row = OBSERVATIONS.c
    query = select(OBSERVATIONS).where((row.conversation == conversation) & (row.alias == alias))
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        return None
    return Observation(
        found["kind"], found["uri"], found["digest"], found["size"], _ranges(found["shown"])
    )


def _ranges(shown: Sequence[Sequence[int]]) -> Ranges:
    return tuple((first, last) for first, last in shown)


def _put(tx: Connection, row: Mapping[str, Any]) -> None:
    tx.execute(_UPSERT[tx.dialect.name], row)


def _outdated(rows: Sequence[Mapping[str, Any]], capacity: int | None) -> dict[str, str]:
    """Return the digests, by alias, of all but the newest *rows*."""
    outdated, size = {}, 0
    newest_first = sorted(rows, key=lambda row: float(row["created"]), reverse=True)
    for count, row in enumerate(newest_first, 1):
        size += row["size"]
        if count > OBSERVATIONS_PER_KIND or (capacity is not None and size > capacity):
            outdated[row["alias"]] = row["digest"]
    return outdated


def _evict(tx: Connection, conversation: str, outdated: Mapping[str, str]) -> frozenset[str]:
    """Delete *outdated* rows and return the digests that no row names any more."""
    if not outdated:
        return frozenset()
    row = OBSERVATIONS.c
    own = (row.conversation == conversation) & row.alias.in_(outdated)
    tx.execute(delete(OBSERVATIONS).where(own))
    digests = set(outdated.values())
    named = tx.execute(select(row.digest).where(row.digest.in_(digests))).scalars()
    return frozenset(digests - set(named))
