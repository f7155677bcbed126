"""The end of a turn: every open call and attempt is closed, and the record says how it ended."""

from sqlalchemy import Column, Connection, select
from temporalio import activity

from activities.attempt import attempt
from activities.store import calls, events, requests, turns
from activities.store.database import Database
from activities.store.events import Entry, append
from activities.store.requests import AttemptRecord
from activities.store.schema import CALLS, JOBS, MESSAGES
from workflows.contracts.event import EventKind
from workflows.contracts.failure import FailureKind
from workflows.contracts.item import ResultItem
from workflows.contracts.key import CallKey, RequestKey
from workflows.contracts.provider import RequestFailure
from workflows.contracts.tool import CallStatus
from workflows.contracts.turn import TurnClosed, TurnClosing, TurnOutcome
from workflows.ports.transcript import TranscriptPort

NOT_RUN = "{tool} was not run: the turn had {outcome} before its turn came."
UNKNOWN = (
    "{tool} was interrupted and its outcome is unknown. It may have taken effect, fully or in "
    "part: inspect before repeating it."
)

DEFECT = "Something inside Autolith failed; the worker's log tells more. Nothing was lost."


class Transcript(TranscriptPort):
    """Closes turns in the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @activity.defn
    async def close_turn(self, closing: TurnClosing) -> TurnClosed:
        """Give every open call of the turn its one result and write down how it ended.

        Whatever goes wrong here may pass, so nothing is translated into a lasting failure.
        """
        return await attempt(
            lambda _: self._database.write(lambda tx: _close(tx, closing)), use_grace=True
        )


def _close(tx: Connection, closing: TurnClosing) -> TurnClosed:
    for key, record in _open_calls(tx, closing):
        calls.conclude(tx, key, _settled(record, closing.outcome))
    for lost in requests.open_attempts(tx, closing.key):
        _settle_attempt(tx, closing, lost)
    if turns.close_turn(tx, closing):
        body = {
            "outcome": closing.outcome.value,
            "failure": closing.failure and closing.failure.value,
            "message": _explanation(tx, closing),
        }
        ended = Entry(EventKind.TURN_ENDED, body, closing.key.turn)
        append(tx, closing.key.conversation, [ended])
    return TurnClosed(
        consumed=_reached(tx, closing, MESSAGES.c.id, closing.steering),
        delivered=_reached(tx, closing, JOBS.c.job, closing.deliveries),
    )


def _settle_attempt(tx: Connection, closing: TurnClosing, record: AttemptRecord) -> None:
    """Record a lost attempt that no later one could record, with what it had streamed."""
    key = RequestKey(**dict(closing.key), request=record.request)
    partial = events.partial_text(tx, key, record.attempt)
    lost = RequestFailure(
        kind=FailureKind.WORKER_LOST,
        # Calls and hidden reasoning leave no text behind; the policy knew of them.
        output_started=bool(partial) or closing.failure is FailureKind.STREAM_ABANDONED,
    )
    requests.end_lost_attempt(tx, key, record.attempt, lost)
    entry = Entry.of(
        key,
        EventKind.ATTEMPT_FAILED,
        attempt=record.attempt,
        failure=lost.kind.value,
        message=requests.LOST,
        output_started=lost.output_started,
        delay=None,
        final=True,
        partial=partial,
    )
    events.prune(tx, key)
    append(tx, key.conversation, [entry])


def _explanation(tx: Connection, closing: TurnClosing) -> str | None:
    if closing.failure is None:
        return None
    if closing.failure is FailureKind.INTERNAL:
        return DEFECT
    return requests.last_message(tx, closing.key)


def _open_calls(tx: Connection, closing: TurnClosing) -> list[tuple[CallKey, calls.CallRecord]]:
    query = select(CALLS).where(
        CALLS.c.conversation == closing.key.conversation,
        CALLS.c.turn == closing.key.turn,
        CALLS.c.status.is_(None),
    )
    rows = [dict(row) for row in tx.execute(query).mappings()]
    return [(CallKey.model_validate(row), calls.CallRecord.model_validate(row)) for row in rows]


def _settled(record: calls.CallRecord, outcome: TurnOutcome) -> ResultItem:
    """Say what is known: a call that never began is not an unknown outcome."""
    began = record.intended is not None
    text = UNKNOWN if began else NOT_RUN
    return ResultItem(
        ordinal=record.ordinal,
        call_id=record.call_id,
        tool=record.tool,
        status=CallStatus.UNKNOWN if began else CallStatus.CANCELLED,
        text=text.format(tool=record.tool, outcome=_past(outcome)),
    )


def _past(outcome: TurnOutcome) -> str:
    return "been cancelled" if outcome is TurnOutcome.CANCELLED else outcome.value


def _reached(
    tx: Connection, closing: TurnClosing, column: Column[str], candidates: tuple[str, ...]
) -> tuple[str, ...]:
    """Return which of *candidates* this turn put into the history."""
    if not candidates:
        return ()
    table = column.table
    query = select(column).where(
        table.c.conversation == closing.key.conversation,
        table.c.turn == closing.key.turn,
        column.in_(candidates),
    )
    found = {str(name) for name in tx.execute(query).scalars()}
    return tuple(name for name in candidates if name in found)
