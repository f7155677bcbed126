"""Keyed inserts: writing the same row again changes nothing."""

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_once(tx: Connection, table: Table, *rows: dict[str, Any]) -> int:
    """Insert *rows* whose key is new and return how many those were."""
    if not rows:
        return 0
    dialect = postgresql if tx.dialect.name == "postgresql" else sqlite
    # One statement with many values: executemany reports no usable row count.
    statement = dialect.insert(table).values(list(rows)).on_conflict_do_nothing()
    return tx.execute(statement).rowcount
