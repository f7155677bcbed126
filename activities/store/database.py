"""One database, used through short functions over a connection.

A write is one transaction in the writer's thread: whatever belongs together is
written together, at the price of one hop.  SQLite is the default (WAL, one file);
PostgreSQL is the same code by another URL.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from activities.errors import StoreUnavailable
from activities.store.migration import migrate

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
BUSY_RETRIES = 5
"""A writer in another process may hold the lock for longer than one busy timeout."""
READERS = 4


class Database:
    """The store of one data root, or a shared one.

    Construct with :meth:`open`.  ``write`` commits durably before it returns;
    ``durable=False`` is for rows that only bridge seconds, such as text deltas:
    they survive the process, though not a power failure.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._durable = _engine(url, synchronous="FULL")
        self._loose = _engine(url, synchronous="NORMAL") if _is_sqlite(url) else self._durable
        # SQLite has one writer anyway: queueing in one thread is cheaper than lock waits.
        self._writer = ThreadPoolExecutor(1 if _is_sqlite(url) else READERS, "store-write")
        self._reader = ThreadPoolExecutor(READERS, "store-read")

    @classmethod
    def open(cls, url: str) -> "Database":
        """Open the database at *url*, creating or migrating it first.

        Raises:
            NewerStoreError: a newer release has written it.
            StoreUnavailable: it cannot be opened.
        """
        if _is_sqlite(url):
            _create_private(Path(url.removeprefix("sqlite:///")))
        try:
            database = cls(url)
        except (ArgumentError, ModuleNotFoundError) as error:
            raise StoreUnavailable(
                f"The store's address {_without_password(url)} cannot be used: {error}"
            ) from error
        try:
            migrate(database._durable, lock=_lock_path(url))
        except DBAPIError as error:
            database.close()
            raise _unavailable(error) from error
        return database

    async def write(self, work: Callable[[Connection], T], *, durable: bool = True) -> T:
        """Run *work* in one write transaction and return its result.

        Raises:
            StoreUnavailable: the write is impossible, for example on a full disk.
        """
        engine = self._durable if durable else self._loose
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self.write_now, work, engine)

    def write_now(self, work: Callable[[Connection], T], engine: Engine | None = None) -> T:
        """Do what :meth:`write` does, in this thread."""
        for attempt in range(BUSY_RETRIES):
            try:
                with (engine or self._durable).begin() as connection:
                    return work(connection)
            except OperationalError as error:
                if "locked" not in str(error) or attempt == BUSY_RETRIES - 1:
                    raise _unavailable(error) from error
                time.sleep(0.05 * (attempt + 1))
            except DBAPIError as error:
                raise _unavailable(error) from error
        raise StoreUnavailable("The store stayed locked")

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run *work* over a consistent snapshot and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, self.read_now, work)

    def read_now(self, work: Callable[[Connection], T]) -> T:
        """Do what :meth:`read` does, in this thread."""
        try:
            with self._loose.connect().execution_options(reading=True) as connection:
                return work(connection)
        except DBAPIError as error:
            raise _unavailable(error) from error

    @contextmanager
    def watch(self) -> Iterator[Connection]:
        """Lend one connection of its own to a reader that waits for changes."""
        with self._loose.connect().execution_options(reading=True) as connection:
            yield connection

    def close(self) -> None:
        """Finish what is queued and close every connection."""
        self._writer.shutdown()
        self._reader.shutdown()
        self._durable.dispose()
        self._loose.dispose()


def _is_sqlite(url: str) -> bool:
    return url.startswith("sqlite:")


def _without_password(url: str) -> str:
    return re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", url)


def _lock_path(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///") + ".lock") if _is_sqlite(url) else None


def _create_private(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnavailable(f"The store cannot be opened: {error}") from error


def _unavailable(error: DBAPIError) -> StoreUnavailable:
    return StoreUnavailable(f"The store cannot be used: {error.orig}")


def _engine(url: str, *, synchronous: str) -> Engine:
    if not _is_sqlite(url):
        return create_engine(url, pool_size=2 * READERS, pool_pre_ping=True)
    engine = create_engine(
        url,
        pool_size=0,  # no limit: every screen that follows a log holds one
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        # The driver must not begin transactions by itself; "begin" below does.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A deferred transaction that starts with a read cannot wait for the write lock.
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
