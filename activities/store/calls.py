"""Accepted calls: what the model wrote, the note before an effect, the one result."""

import time
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select, update

from activities.store import items
from activities.store.events import Entry, append, prune
from activities.store.insertion import insert_once
from activities.store.schema import CALLS
from workflows.contracts.base import Contract
from workflows.contracts.event import EventKind
from workflows.contracts.item import ResultItem
from workflows.contracts.key import CallKey, RequestKey
from workflows.contracts.tool import CallReport, CallStatus, JobHandoff


class CallRecord(Contract):
    """One accepted call."""

    ordinal: int
    call_id: str
    tool: str
    arguments: str
    verdict: str
    intended: float | None = None
    """When an attempt noted that it was about to begin."""
    status: CallStatus | None = None
    job: JobHandoff | None = None


def accept(tx: Connection, key: RequestKey, records: Sequence[CallRecord]) -> None:
    """Write the calls of one reply."""
    place = key.model_dump(include={"conversation", "turn", "request"})
    columns = {"ordinal", "call_id", "tool", "arguments", "verdict"}
    insert_once(
        tx, CALLS, *({**place, **record.model_dump(include=columns)} for record in records)
    )


def find(connection: Connection, key: CallKey) -> CallRecord:
    """Return the call at *key*, which has to exist."""
    row = connection.execute(select(CALLS).where(_at(key))).mappings().one()
    return CallRecord.model_validate(dict(row))


def intend(tx: Connection, key: CallKey) -> None:
    """Note that the call is about to begin; from now on it may have happened."""
    tx.execute(update(CALLS).where(_at(key)).values(intended=time.time()))


def conclude(
    tx: Connection,
    key: CallKey,
    result: ResultItem,
    *,
    job: JobHandoff | None = None,
    microseconds: int | None = None,
) -> CallReport:
    """Store the one result of a call and return the report of what is stored.

    A result that is there already wins: whoever comes second learns the first.
    """
    if items.put(tx, key, items.Phase.RESULT, [(key.ordinal, result)]):
        handoff = None if job is None else job.model_dump(mode="json")
        values = {
            "status": result.status.value,
            "job": handoff,
            "real_microseconds": microseconds,
            "cpu_microseconds": result.details.get("cpu_microseconds"),
        }
        tx.execute(update(CALLS).where(_at(key)).values(**values))
        _drop_output_lines(tx, key)
        body = result.model_dump(mode="json", exclude={"kind", "call_id"})
        append(tx, key.conversation, [Entry.of(key, EventKind.RESULT, **body)])
        return CallReport(key=key, status=result.status, job=job)
    found = find(tx, key)
    return CallReport(key=key, status=found.status or result.status, job=found.job)


def concluded(connection: Connection, key: CallKey) -> CallReport | None:
    """Return the report of a call that has its result, else None."""
    found = find(connection, key)
    if found.status is None:
        return None
    return CallReport(key=key, status=found.status, job=found.job)


def _drop_output_lines(tx: Connection, key: RequestKey) -> None:
    """Prune the live output lines of a request; a call that still runs soon shows another."""
    prune(tx, key, [EventKind.CALL_OUTPUT])


def _at(key: CallKey) -> ColumnElement[bool]:
    row = CALLS.c
    return (
        (row.conversation == key.conversation)
        & (row.turn == key.turn)
        & (row.request == key.request)
        & (row.ordinal == key.ordinal)
    )
