"""The tables.  Every key is ours and deterministic, so a repeated write writes once.

``HEAD`` names the newest migration; a test compares this picture with what the
migrations build.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

HEAD = "0001"

METADATA = MetaData()
DOCUMENT = JSON().with_variant(JSONB(), "postgresql")


def _key(*names: str) -> list[Column[int] | Column[str]]:
    columns: list[Column[int] | Column[str]] = [Column("conversation", String, primary_key=True)]
    columns += [Column(name, Integer, primary_key=True, autoincrement=False) for name in names]
    return columns


CONVERSATIONS = Table(
    "conversations",
    METADATA,
    Column("id", String, primary_key=True),
    Column("created", Float, nullable=False),
    Column("active", Float, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("host", String, nullable=False),
    Column("preview", Text, nullable=False, default=""),
    Column("last_event", BigInteger, nullable=False, default=0),
)

MESSAGES = Table(
    "messages",
    METADATA,
    Column("id", String, primary_key=True),
    Column("conversation", String, nullable=False, index=True),
    Column("text", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("turn", Integer),
    Column("request", Integer),
)

TURNS = Table(
    "turns",
    METADATA,
    *_key("turn"),
    Column("message", String, nullable=False),
    Column("started", Float, nullable=False),
    Column("ended", Float),
    Column("outcome", String),
    Column("failure", String),
)

ITEMS = Table(
    "items",
    METADATA,
    *_key("turn", "request", "phase", "ordinal"),
    Column("kind", String, nullable=False),
    Column("body", DOCUMENT, nullable=False),
    Column("created", Float, nullable=False),
)

REQUESTS = Table(
    "requests",
    METADATA,
    *_key("turn", "request"),
    Column("model", String, nullable=False),
    Column("reply", DOCUMENT, nullable=False),
    Column("usage", DOCUMENT, nullable=False),
    Column("identifiers", DOCUMENT, nullable=False),
    Column("answered", Float, nullable=False),
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    *_key("turn", "request", "attempt"),
    Column("started", Float, nullable=False),
    Column("seconds", Float),
    Column("outcome", String),
    Column("output_started", Boolean),
    Column("message", Text),
    Column("identifiers", DOCUMENT),
)

CALLS = Table(
    "calls",
    METADATA,
    *_key("turn", "request", "ordinal"),
    Column("call_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("verdict", String, nullable=False),
    Column("intended", Float),
    Column("status", String),
    Column("job", DOCUMENT),
    Column("cpu_microseconds", BigInteger),
    Column("real_microseconds", BigInteger),
)

JOBS = Table(
    "jobs",
    METADATA,
    Column("conversation", String, primary_key=True),
    Column("job", String, primary_key=True),
    Column("execution", String, nullable=False),
    Column("label", Text, nullable=False),
    Column("started", Float, nullable=False),
    Column("ended", Float),
    Column("state", String),
    Column("text", Text),
    Column("turn", Integer),
    Column("request", Integer),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("conversation", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("turn", Integer, nullable=False),
    Column("request", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("body", DOCUMENT, nullable=False),
)

CAPTURES = Table(
    "captures",
    METADATA,
    Column("execution", String, primary_key=True),
    Column("conversation", String, nullable=False, index=True),
    Column("created", Float, nullable=False),
    Column("ended", Float),
    Column("state", String, nullable=False),
    Column("reserved", BigInteger, nullable=False),
    Column("delivered", Boolean, nullable=False, default=False),
    Column("streams", DOCUMENT, nullable=False),
)

OBSERVATIONS = Table(
    "observations",
    METADATA,
    Column("conversation", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("uri", Text, nullable=False),
    Column("digest", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("shown", DOCUMENT, nullable=False),
    Column("created", Float, nullable=False),
)

Index("events_by_request", EVENTS.c.conversation, EVENTS.c.turn, EVENTS.c.request, EVENTS.c.kind)
