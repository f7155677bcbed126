"""Keyed inserts: writing the same row again changes nothing."""

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_once(tx: Connection, table: Table, *rows: dict[str, Any]) -> int:
    """Insert *rows* whose key is new and return how many those were."""
    if not rows:
        return 0
    dialect = postgresql if tx.dialect.name == "postgresql" else sqlite
    # Drivers disagree about the row count of such an insert; the rows themselves do not lie.
    # The rows go in as parameters: a statement that contains them is compiled every time.
    statement = dialect.insert(table).on_conflict_do_nothing()
    written = tx.execute(statement.returning(*table.primary_key.columns), list(rows))
    return len(written.all())
