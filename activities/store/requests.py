"""Numbered requests: the one stored answer, and a record of every attempt."""

import time

from sqlalchemy import Connection, select, update

from activities.store.insertion import insert_once
from activities.store.schema import ATTEMPTS, REQUESTS
from workflows.contracts.base import Contract
from workflows.contracts.key import RequestKey, TurnKey
from workflows.contracts.provider import RequestFailure, RequestReply
from workflows.contracts.usage import Usage

LOST = "the worker was lost"
"""The explanation of an attempt that nobody can say more about."""


class AttemptRecord(Contract):
    """One attempt, kept beside its request so that retries can be audited."""

    turn: int
    request: int
    attempt: int
    started: float
    seconds: float | None = None
    outcome: str | None = None
    """``answered``, ``cancelled`` or the failure's kind; None while it runs."""
    output_started: bool | None = None
    message: str | None = None
    identifiers: dict[str, str] | None = None


def answered(connection: Connection, key: RequestKey) -> RequestReply | None:
    """Return the stored reply of *key*, if it was answered."""
    row = REQUESTS.c
    query = select(row.reply).where(
        row.conversation == key.conversation, row.turn == key.turn, row.request == key.request
    )
    reply = connection.execute(query).scalar_one_or_none()
    return None if reply is None else RequestReply.model_validate(reply)


def keep_answer(
    tx: Connection, reply: RequestReply, *, model: str, usage: Usage, identifiers: dict[str, str]
) -> bool:
    """Store *reply* and return whether it is the first for its request."""
    row = {
        **_place(reply.key),
        "model": model,
        "reply": reply.model_dump(mode="json"),
        "usage": usage.model_dump(mode="json"),
        "identifiers": identifiers,
        "answered": time.time(),
    }
    return insert_once(tx, REQUESTS, row) == 1


def usages(connection: Connection, conversation: str) -> list[tuple[int, int, Usage]]:
    """Return (turn, request, usage) of every answered request, oldest first."""
    row = REQUESTS.c
    query = (
        select(row.turn, row.request, row.usage)
        .where(row.conversation == conversation)
        .order_by(row.turn, row.request)
    )
    return [(t, r, Usage.model_validate(usage)) for t, r, usage in connection.execute(query)]


def last_model(connection: Connection, conversation: str) -> str | None:
    """Return the model that answered the newest request of *conversation*."""
    row = REQUESTS.c
    query = (
        select(row.model)
        .where(row.conversation == conversation)
        .order_by(row.turn.desc(), row.request.desc())
        .limit(1)
    )
    return connection.execute(query).scalar_one_or_none()


def begin_attempt(tx: Connection, key: RequestKey, attempt: int) -> None:
    """Record that *attempt* is about to be sent."""
    insert_once(tx, ATTEMPTS, {**_place(key), "attempt": attempt, "started": time.time()})


def end_attempt(
    tx: Connection,
    key: RequestKey,
    attempt: int,
    *,
    outcome: str,
    output_started: bool,
    message: str = "",
    identifiers: dict[str, str] | None = None,
) -> None:
    """Record how *attempt* ended, unless that is recorded already."""
    row = ATTEMPTS.c
    values = {
        "outcome": outcome,
        "output_started": output_started,
        "seconds": time.time() - row.started,
        "message": message,
        "identifiers": identifiers or {},
    }
    this = (
        (row.conversation == key.conversation)
        & (row.turn == key.turn)
        & (row.request == key.request)
        & (row.attempt == attempt)
        & row.outcome.is_(None)
    )
    tx.execute(update(ATTEMPTS).where(this).values(**values))


def end_lost_attempt(tx: Connection, key: RequestKey, attempt: int, lost: RequestFailure) -> None:
    """Record the attempt that a lost worker could not record itself, or not even begin."""
    begin_attempt(tx, key, attempt)
    end_attempt(
        tx,
        key,
        attempt,
        outcome=lost.kind.value,
        output_started=lost.output_started,
        message=LOST,
    )


def open_attempts(connection: Connection, key: TurnKey) -> list[AttemptRecord]:
    """Return the attempts of a turn of which nobody has recorded the end, oldest first."""
    row = ATTEMPTS.c
    query = (
        select(ATTEMPTS)
        .where(row.conversation == key.conversation, row.turn == key.turn, row.outcome.is_(None))
        .order_by(row.request, row.attempt)
    )
    rows = connection.execute(query).mappings()
    return [AttemptRecord.model_validate(dict(found)) for found in rows]


def attempts(connection: Connection, conversation: str) -> list[AttemptRecord]:
    """Return every attempt of *conversation*, oldest first."""
    row = ATTEMPTS.c
    query = (
        select(ATTEMPTS)
        .where(row.conversation == conversation)
        .order_by(row.turn, row.request, row.attempt)
    )
    rows = connection.execute(query).mappings()
    return [AttemptRecord.model_validate(dict(found)) for found in rows]


def last_message(connection: Connection, key: TurnKey) -> str | None:
    """Return the explanation of the newest failed attempt of a turn."""
    row = ATTEMPTS.c
    query = (
        select(row.message)
        .where(row.conversation == key.conversation, row.turn == key.turn)
        .order_by(row.request.desc(), row.attempt.desc())
        .limit(1)
    )
    return connection.execute(query).scalar_one_or_none()


def _place(key: RequestKey) -> dict[str, str | int]:
    return {"conversation": key.conversation, "turn": key.turn, "request": key.request}
