"""Rows of a whole conversation from the store: messages, answers, calls, ends."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from rich.text import Text

from activities.store.items import PlacedItem
from activities.store.record import Record, TurnPart
from activities.store.requests import AttemptRecord
from cli.terminal import rows
from workflows.contracts.item import (
    AssistantItem,
    CallItem,
    NoticeItem,
    ReasoningItem,
    ResultItem,
    UserItem,
)
from workflows.contracts.turn import TurnOutcome

ANSWERED = "answered"
"""The outcome of the one attempt of a request that is no failure."""


def record_rows(record: Record, width: int) -> list[Text]:
    """Lay out everything that was said and done in a conversation."""
    conversation = record.conversation
    since = datetime.fromtimestamp(conversation.created, UTC).strftime("%Y-%m-%d %H:%M UTC")
    heading = f"conversation {conversation.id} · {since} · {conversation.workspace}"
    laid_out = rows.plain(heading, width, "dim")
    for part in record.turns:
        laid_out += [Text(), *turn_rows(part, width)]
    for job in record.jobs:
        state = job.state.value if job.state else "running"
        laid_out += [Text(), *rows.job_finished(job.job, state, job.text or job.label, width)]
    return laid_out


def turn_rows(part: TurnPart, width: int) -> list[Text]:
    """Lay out one turn, with the attempts that failed before each request's answer."""
    laid_out: list[Text] = []
    told: set[int] = set()
    calls = _labels(part)
    for placed in part.items:
        if not isinstance(placed.item, UserItem | NoticeItem) and placed.request not in told:
            told.add(placed.request)
            laid_out += _failures(part, placed.request, width)
        laid_out += _item_rows(placed, calls, width)
    for request in sorted({attempt.request for attempt in part.attempts} - told):
        laid_out += _failures(part, request, width)
    return laid_out + _outcome_rows(part, width)


def _item_rows(placed: PlacedItem, calls: dict[tuple[int, int], str], width: int) -> list[Text]:
    item = placed.item
    match item:
        case UserItem():
            return rows.message(item.text, width, steering=item.steering)
        case NoticeItem():
            return rows.notice(item.text, width)
        case AssistantItem():
            return rows.answer(item.text, width)
        case ResultItem():
            label = calls.get((placed.request, item.ordinal), "")
            diff = item.details.get("diff")
            return rows.result(item.tool, label, item.status, item.text, width, diff=diff)
        case ReasoningItem() | CallItem():
            return []


def _labels(part: TurnPart) -> dict[tuple[int, int], str]:
    """Return a short label for each call, by request and ordinal."""
    return {
        (placed.request, placed.item.ordinal): argument_line(placed.item.arguments)
        for placed in part.items
        if isinstance(placed.item, CallItem)
    }


def argument_line(arguments: str) -> str:
    """Return a call's arguments as a person reads them: never as raw JSON."""
    try:
        values = json.loads(arguments)
    except ValueError:
        return "(arguments that do not parse)"
    if not isinstance(values, dict):
        return "(arguments that are no object)"
    return " ".join(_argument(name, value) for name, value in values.items())


def _argument(name: str, value: object) -> str:
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f":{name} {said}"


def _failures(part: TurnPart, request: int, width: int) -> Iterator[Text]:
    for attempt in part.attempts:
        if attempt.request == request and attempt.outcome not in (None, ANSWERED):
            yield from _failure(attempt, width)


def _failure(attempt: AttemptRecord, width: int) -> list[Text]:
    said = rows.failed_attempt(
        attempt.attempt,
        attempt.outcome or "",
        attempt.message or "",
        width,
        delay=None,
        final=True,
    )
    if attempt.output_started:
        said += rows.cut_off("its output had begun and was dropped", None, width)
    return said


def _outcome_rows(part: TurnPart, width: int) -> list[Text]:
    record = part.record
    if record.outcome is None:
        return rows.plain(f"─ turn {record.turn} has not ended", width, "dim")
    return rows.outcome(
        record.turn,
        TurnOutcome(record.outcome),
        record.failure or "",
        "",
        width,
        seconds=None if record.ended is None else record.ended - record.started,
    )
