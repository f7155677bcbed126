"""One database: migrated, private, refused when it is newer, honest when it is full."""

import multiprocessing
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, inspect, text

from activities.errors import NewerStoreError, StoreUnavailable
from activities.store.database import Database
from activities.store.migration import KNOWN, upgrade
from activities.store.schema import HEAD, METADATA


@pytest.fixture
def migrated(url: str) -> Iterator[Connection]:
    """A store built by the migrations alone, from nothing."""
    engine = create_engine(url)
    upgrade(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def _check(connection: Connection) -> dict[tuple[str, str], str]:
    """Compare what is there with what is drawn, and return the type of each column."""
    found = inspect(connection)
    types: dict[tuple[str, str], str] = {}
    for table in METADATA.sorted_tables:
        columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
        assert columns == {column.name: column.nullable for column in table.columns}
        kinds = {
            column["name"]: type(column["type"]).__name__
            for column in found.get_columns(table.name)
        }
        types.update({(table.name, name): kind for name, kind in kinds.items()})
        key = found.get_pk_constraint(table.name)["constrained_columns"]
        assert set(key) == {column.name for column in table.primary_key}
        indexes = {index["name"] for index in found.get_indexes(table.name)}
        assert indexes == {index.name for index in table.indexes}
    return types


def test_the_migrations_build_what_the_schema_draws(migrated: Connection, tmp_path: Path) -> None:
    """The drawn tables and the migrated ones have the same columns, types and keys."""
    types = _check(migrated)
    if migrated.dialect.name == "sqlite":
        fresh = Database.open(f"sqlite:///{tmp_path}/fresh.db")
        with fresh.watch() as connection:
            assert _check(connection) == types
        fresh.close()
    assert migrated.execute(text("select version_num from alembic_version")).scalar() == HEAD


def test_a_fresh_store_is_what_the_schema_draws(database: Database) -> None:
    """It is built without the migrations, and says that none is missing."""
    with database.watch() as connection:
        _check(connection)
        assert connection.execute(text("select version_num from alembic_version")).scalar() == HEAD


def test_the_newest_migration_is_the_head() -> None:
    """A migration that is added moves the head."""
    assert KNOWN[-1] == HEAD


def test_a_newer_store_is_refused_and_left_alone(url: str) -> None:
    """An older program says so in one line and changes nothing."""
    store = Database.open(url)
    store.write_now(lambda tx: tx.execute(text("update alembic_version set version_num = '9999'")))
    store.close()

    with pytest.raises(NewerStoreError, match="newer Autolith"):
        Database.open(url)


def test_the_file_is_private(tmp_path: Path) -> None:
    """Nobody else can read what was said."""
    os.umask(0o022)
    store = Database.open(f"sqlite:///{tmp_path}/data/store.db")
    store.write_now(lambda tx: tx.execute(text("delete from messages")))

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    store.close()

    assert set(modes.values()) == {0o600}
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    """The reason is the database's own, in one line."""
    (tmp_path / "store.db").write_text("this is not a database, though it is long enough to look")

    with pytest.raises(StoreUnavailable, match="not a database"):
        Database.open(f"sqlite:///{tmp_path}/store.db")


def test_an_unwritable_place_is_one_clear_error(tmp_path: Path) -> None:
    """A path below a file cannot be created, for root neither."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Database.open(f"sqlite:///{tmp_path}/file/store.db")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nonsense", "nonsense"),
        ("mysql+nodriver://me:secret@host/db", "mysql+nodriver://me:***@host/db"),
    ],
)
def test_an_address_that_is_none_is_one_clear_error(url: str, shown: str) -> None:
    """It names the address without its password."""
    with pytest.raises(StoreUnavailable) as refusal:
        Database.open(url)

    assert shown in str(refusal.value)
    assert "secret" not in str(refusal.value)


async def test_a_full_database_is_a_store_error(tmp_path: Path) -> None:
    """A write that finds no room fails with one line, and the rows before it stay."""
    store = Database.open(f"sqlite:///{tmp_path}/store.db")
    pages = store.read_now(lambda tx: tx.exec_driver_sql("pragma page_count").scalar_one())
    big = "x" * 1_000_000
    insert = "insert into messages values (:id, 'c', :text, 0, null, null)"
    await store.write(lambda tx: tx.execute(text(insert), {"id": "1", "text": "kept"}))

    def overflow(tx: object) -> None:
        tx.exec_driver_sql(f"pragma max_page_count={pages + 2}")  # type: ignore[attr-defined]
        tx.execute(text(insert), {"id": "2", "text": big})  # type: ignore[attr-defined]

    with pytest.raises(StoreUnavailable, match="full"):
        await store.write(overflow)
    kept = await store.read(lambda tx: tx.execute(text("select id from messages")).scalars().all())
    store.close()

    assert kept == ["1"]


def _open_many(url: str, count: int) -> None:
    for _ in range(count):
        Database.open(url).close()


def test_processes_that_open_a_fresh_store_at_once_all_succeed(tmp_path: Path) -> None:
    """One of them migrates; the others wait for it."""
    context = multiprocessing.get_context("spawn")
    url = f"sqlite:///{tmp_path}/store.db"
    processes = [context.Process(target=_open_many, args=(url, 3)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    with sqlite3.connect(tmp_path / "store.db") as connection:
        assert connection.execute("select version_num from alembic_version").fetchall() == [
            (HEAD,)
        ]
