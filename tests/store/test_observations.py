"""What a conversation remembers of what it saw, and for how long."""

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from activities.store.database import Database
from activities.store.objects import ObjectDirectory
from activities.store.observations import Observation, Recorded, find, record
from activities.workspace.ranges import covers, merged, within
from activities.workspace.snapshots import SnapshotDirectory
from workflows.policy.resources import OBSERVATIONS_PER_KIND, SNAPSHOT_BYTES

MIB = 1024 * 1024


def seen(name: str, *, size: int = 0, kind: str = "workspace") -> Observation:
    """Return an observation of a resource called *name*."""
    return Observation(kind, f"{kind}:{name}", f"digest of {name}", size, ((1, 3),))


def note(database: Database, observation: Observation, *, conversation: str = "c") -> Recorded:
    """Record *observation*."""
    return database.write_now(
        lambda tx: record(tx, conversation, observation, capacity=SNAPSHOT_BYTES)
    )


def known(database: Database, alias: str, *, conversation: str = "c") -> Observation | None:
    """Look *alias* up."""
    return database.read_now(lambda connection: find(connection, conversation, alias))


def test_an_observation_is_found_by_its_alias(database: Database) -> None:
    """R and sixteen characters, in the conversation that made it only."""
    revision = note(database, seen("a")).revision

    assert len(revision) == 17
    assert revision.startswith("R")
    assert known(database, revision) == seen("a")
    assert known(database, revision, conversation="d") is None


def test_an_observation_outlives_the_worker(database: Database) -> None:
    """Another process finds it."""
    revision = note(database, seen("a")).revision
    database.close()
    other = Database.open(database.url)

    assert known(other, revision) == seen("a")
    other.close()


def test_seeing_more_of_one_content_adds_up(database: Database) -> None:
    """The alias stays, and the ranges are joined."""
    first = Observation("workspace", "workspace:a", "x", 9, ((1, 3),))
    second = Observation("workspace", "workspace:a", "x", 9, ((4, 6), (9, 9)))

    revisions = {note(database, first).revision, note(database, second).revision}

    assert len(revisions) == 1
    found = known(database, revisions.pop())
    assert found is not None
    assert found.shown == ((1, 6), (9, 9))


def test_the_oldest_observation_goes(database: Database) -> None:
    """Sixteen stay; seeing one again makes it the newest."""
    revisions = [note(database, seen(f"{n}")).revision for n in range(OBSERVATIONS_PER_KIND)]
    note(database, seen("0"))

    result = note(database, seen("one more"))

    assert known(database, revisions[0]) is not None
    assert known(database, revisions[1]) is None
    assert all(known(database, revision) for revision in revisions[2:])
    assert result.unreferenced == {"digest of 1"}


def test_each_kind_and_conversation_has_its_own_sixteen(database: Database) -> None:
    """They do not push each other out."""
    mine = note(database, seen("mine")).revision
    for n in range(OBSERVATIONS_PER_KIND + 4):
        note(database, seen(f"{n}", kind="agenda"))
        note(database, seen(f"{n}"), conversation="d")

    assert known(database, mine) is not None


def test_snapshots_share_their_megabytes(database: Database) -> None:
    """The newest that fit stay: 4 + 4 + 4 + 4, and not one byte more."""
    revisions = [note(database, seen(f"{n}", size=4 * MIB)).revision for n in range(4)]
    assert all(known(database, revision) for revision in revisions)

    result = note(database, seen("small", size=1))

    assert known(database, revisions[0]) is None
    assert all(known(database, revision) for revision in revisions[1:])
    assert result.unreferenced == {"digest of 0"}


def test_a_content_that_somebody_else_has_seen_stays(database: Database) -> None:
    """Only what no conversation refers to is dropped."""
    note(database, seen("0"), conversation="d")

    results = [note(database, seen(f"{n}")) for n in range(OBSERVATIONS_PER_KIND + 2)]

    assert [result.unreferenced for result in results[-2:]] == [set(), {"digest of 1"}]


def test_a_dropped_snapshot_is_gone(tmp_path: Path) -> None:
    """Others stay, and dropping twice does no harm."""
    objects = ObjectDirectory(tmp_path)
    snapshots = SnapshotDirectory(objects)
    one, other = snapshots.put(b"one"), snapshots.put(b"other")
    kept = objects.put(b"one")

    snapshots.drop(frozenset({one, "missing"}))
    snapshots.drop(frozenset({one}))

    assert snapshots.get(other) == b"other"
    assert objects.get(kept) == b"one"
    assert [path.name for path in snapshots.root.glob("*/*")] == [other]


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30))),
    st.integers(1, 30),
    st.integers(1, 30),
)
def test_ranges_are_sets_of_lines(pairs: list[tuple[int, int]], first: int, last: int) -> None:
    """Sorted, separate, and with the same members."""
    members = {n for low, high in pairs for n in range(low, high + 1)}
    union = merged(pairs)

    assert {n for low, high in union for n in range(low, high + 1)} == members
    assert all(left[1] + 1 < right[0] for left, right in itertools.pairwise(union))
    wanted = set(range(first, last + 1))
    assert {n for low, high in within(union, first, last) for n in range(low, high + 1)} == (
        members & wanted
    )
    if wanted:
        assert covers(union, first, last) == (wanted <= members)
