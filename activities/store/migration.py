"""Bring a database to the schema of this release, and refuse a newer one.

Alembic is imported only when there is something to migrate: it takes a second, and a
fresh store is part of the first command that a person ever runs.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, inspect, text

from activities.errors import NewerStoreError
from activities.store.schema import HEAD, METADATA

SCRIPTS = Path(__file__).with_name("migrations")
KNOWN = tuple(sorted(path.stem[:4] for path in (SCRIPTS / "versions").glob("[0-9]*.py")))


def migrate(engine: Engine, *, lock: Path | None) -> None:
    """Upgrade to ``HEAD``; *lock* keeps two processes from migrating one file.

    Raises:
        NewerStoreError: the database has a revision that this release does not know.
    """
    if _current(engine) == HEAD:
        return
    with _locked(lock):
        current = _current(engine)
        if current is None:
            _create(engine)
        elif current != HEAD:
            upgrade(engine)


def _current(engine: Engine) -> str | None:
    with engine.connect().execution_options(reading=True) as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        revision = connection.execute(text("select version_num from alembic_version")).scalar()
    if revision is not None and revision not in KNOWN:
        raise NewerStoreError(
            f"The store was written by a newer Autolith (schema {revision}, this one knows "
            f"{HEAD}); upgrade Autolith. Nothing was changed."
        )
    return revision


def _create(engine: Engine) -> None:
    """Build a fresh store as it is drawn; a test holds the drawing against the migrations."""
    with engine.begin() as connection:
        METADATA.create_all(connection)
        connection.execute(
            text("create table alembic_version (version_num varchar(32) primary key)")
        )
        connection.execute(text("insert into alembic_version values (:head)"), {"head": HEAD})


def upgrade(engine: Engine) -> None:
    """Run every migration that is missing."""
    from alembic import command  # noqa: PLC0415 -- see the module's promise
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
