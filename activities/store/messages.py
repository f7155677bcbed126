"""Messages of the owner: durable before anybody acknowledges them, used once."""

import time
from enum import Enum

from sqlalchemy import Connection, select, update

from activities.errors import ConversationError
from activities.store import conversations
from activities.store.events import Entry, append
from activities.store.insertion import insert_once
from activities.store.schema import MESSAGES
from workflows.contracts.event import EventKind
from workflows.contracts.key import RequestKey


def keep(tx: Connection, conversation: str, message: str, text: str, *, delivery: str) -> None:
    """Store *text* under its message id and tell the screens; again changes nothing."""
    row = {"id": message, "conversation": conversation, "text": text, "created": time.time()}
    if insert_once(tx, MESSAGES, row):
        conversations.touch(tx, conversation, text)
        body = {"message": message, "text": text, "delivery": delivery}
        append(tx, conversation, [Entry(EventKind.MESSAGE, body)])


class Claim(Enum):
    """Why a claim yields no text."""

    HERE = "here"
    """This request has delivered the message already."""
    ELSEWHERE = "elsewhere"
    """Another request has: a replayed start or signal cannot make the model hear it twice."""


def claim(tx: Connection, key: RequestKey, message: str) -> str | Claim:
    """Bind *message* to the request that delivers it, and return its text the first time.

    Raises:
        ConversationError: this conversation has no such message.
    """
    query = select(MESSAGES).where(MESSAGES.c.id == message)
    row = tx.execute(query).mappings().one_or_none()
    if row is None or row["conversation"] != key.conversation:
        raise ConversationError(f"Message {message} is not in the store of this conversation")
    if row["turn"] is None:
        place = {"turn": key.turn, "request": key.request}
        tx.execute(update(MESSAGES).where(MESSAGES.c.id == message).values(**place))
        return str(row["text"])
    is_here = (row["turn"], row["request"]) == (key.turn, key.request)
    return Claim.HERE if is_here else Claim.ELSEWHERE


def texts(connection: Connection, messages: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each of *messages* that is stored."""
    query = select(MESSAGES.c.id, MESSAGES.c.text).where(MESSAGES.c.id.in_(messages))
    return {str(name): str(text) for name, text in connection.execute(query)}
