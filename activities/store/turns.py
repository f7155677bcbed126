"""Turns: which message opened one, and how it ended."""

import time

from sqlalchemy import Connection, func, select, update

from activities.store.insertion import insert_once
from activities.store.schema import TURNS
from workflows.contracts.base import Contract
from workflows.contracts.key import TurnKey
from workflows.contracts.turn import TurnClosing


class TurnRecord(Contract):
    """One turn as the store knows it."""

    turn: int
    message: str
    started: float
    ended: float | None = None
    outcome: str | None = None
    """None while it runs, and after a machine failure until its workflow closes it."""
    failure: str | None = None


def open_turn(tx: Connection, key: TurnKey, message: str) -> bool:
    """Record that *message* opened a turn; return whether that was new."""
    row = {
        "conversation": key.conversation,
        "turn": key.turn,
        "message": message,
        "started": time.time(),
    }
    return insert_once(tx, TURNS, row) == 1


def close_turn(tx: Connection, closing: TurnClosing) -> bool:
    """Record how a turn ended; return whether that was new."""
    row = TURNS.c
    open_ = (
        (row.conversation == closing.key.conversation)
        & (row.turn == closing.key.turn)
        & row.outcome.is_(None)
    )
    values = {
        "ended": time.time(),
        "outcome": closing.outcome.value,
        "failure": None if closing.failure is None else closing.failure.value,
    }
    return tx.execute(update(TURNS).where(open_).values(**values)).rowcount == 1


def newest(connection: Connection, conversation: str) -> int:
    """Return the number of the newest turn, 0 when there was none."""
    query = select(func.max(TURNS.c.turn)).where(TURNS.c.conversation == conversation)
    return connection.execute(query).scalar_one() or 0


def all_turns(connection: Connection, conversation: str) -> list[TurnRecord]:
    """Return every turn of *conversation*, oldest first."""
    query = select(TURNS).where(TURNS.c.conversation == conversation).order_by(TURNS.c.turn)
    return [TurnRecord.model_validate(dict(row)) for row in connection.execute(query).mappings()]
