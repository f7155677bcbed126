"""The first schema.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def _key(*names: str) -> list[sa.Column[int] | sa.Column[str]]:
    columns: list[sa.Column[int] | sa.Column[str]] = [
        sa.Column("conversation", sa.String, primary_key=True)
    ]
    columns += [sa.Column(n, sa.Integer, primary_key=True, autoincrement=False) for n in names]
    return columns


def upgrade() -> None:
    """Create every table of the first release."""
    _create_conversation_tables()
    _create_request_tables()
    _create_tool_tables()


def _create_conversation_tables() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("active", sa.Float, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("preview", sa.Text, nullable=False),
        sa.Column("last_event", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("conversation", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("turn", sa.Integer),
        sa.Column("request", sa.Integer),
    )
    op.create_table(
        "turns",
        *_key("turn"),
        sa.Column("message", sa.String, nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("outcome", sa.String),
        sa.Column("failure", sa.String),
    )
    op.create_table(
        "items",
        *_key("turn", "request", "phase", "ordinal"),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("body", DOCUMENT, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("conversation", sa.String, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("request", sa.Integer, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("body", DOCUMENT, nullable=False),
    )
    op.create_index("ix_messages_conversation", "messages", ["conversation"])
    op.create_index("events_by_request", "events", ["conversation", "turn", "request", "kind"])


def _create_request_tables() -> None:
    op.create_table(
        "requests",
        *_key("turn", "request"),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("reply", DOCUMENT, nullable=False),
        sa.Column("usage", DOCUMENT, nullable=False),
        sa.Column("identifiers", DOCUMENT, nullable=False),
        sa.Column("answered", sa.Float, nullable=False),
    )
    op.create_table(
        "attempts",
        *_key("turn", "request", "attempt"),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("outcome", sa.String),
        sa.Column("output_started", sa.Boolean),
        sa.Column("message", sa.Text),
        sa.Column("identifiers", DOCUMENT),
    )
    op.create_table(
        "calls",
        *_key("turn", "request", "ordinal"),
        sa.Column("call_id", sa.String, nullable=False),
        sa.Column("tool", sa.String, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("intended", sa.Float),
        sa.Column("status", sa.String),
        sa.Column("job", DOCUMENT),
        sa.Column("cpu_microseconds", sa.BigInteger),
        sa.Column("real_microseconds", sa.BigInteger),
    )


def _create_tool_tables() -> None:
    op.create_table(
        "jobs",
        sa.Column("conversation", sa.String, primary_key=True),
        sa.Column("job", sa.String, primary_key=True),
        sa.Column("execution", sa.String, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("state", sa.String),
        sa.Column("text", sa.Text),
        sa.Column("turn", sa.Integer),
        sa.Column("request", sa.Integer),
    )
    op.create_table(
        "captures",
        sa.Column("execution", sa.String, primary_key=True),
        sa.Column("conversation", sa.String, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("delivered", sa.Boolean, nullable=False),
        sa.Column("streams", DOCUMENT, nullable=False),
    )
    op.create_table(
        "observations",
        sa.Column("conversation", sa.String, primary_key=True),
        sa.Column("alias", sa.String, primary_key=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("uri", sa.Text, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("shown", DOCUMENT, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_index("ix_captures_conversation", "captures", ["conversation"])
