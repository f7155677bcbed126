"""Keyed inserts: writing the same row again changes nothing."""

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_once(tx: Connection, table: Table, *rows: dict[str, Any]) -> int:
    """Insert *rows* whose key is new and return how many those were."""
    if not rows:
        return 0
    dialect = postgresql if tx.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).values(list(rows)).on_conflict_do_nothing()
    # Drivers disagree about the row count of such an insert; the rows themselves do not lie.
    written = statement.returning(*table.primary_key.columns)
    return len(tx.execute(written).all())
