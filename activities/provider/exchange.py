"""What the store has to say before and after one attempt of a request.

Each function is one transaction.  Everything is keyed, so an attempt that repeats
another's writes changes nothing.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, select, update

from activities.errors import ConversationError
from activities.provider.acceptance import Acceptance, Accepted
from activities.provider.adapter import ModelReply
from activities.provider.errors import ProviderError
from activities.shell import captures
from activities.store import calls, conversations, events, items, jobs, messages, requests, turns
from activities.store.events import Entry
from activities.store.schema import CALLS, ITEMS, JOBS
from workflows.contracts.event import EventKind
from workflows.contracts.item import Item, NoticeItem, UserItem
from workflows.contracts.permission import PermissionRequest, Verdict
from workflows.contracts.provider import RequestFailure, RequestOrder, RequestReply
from workflows.policy import retries


@dataclass(frozen=True)
class Opening:
    """What an attempt needs to be sent."""

    workspace: Path
    used_ids: set[str]
    """Call ids that this turn has sent over the wire."""


def open_attempt(tx: Connection, order: RequestOrder) -> Opening | RequestReply:
    """Deliver the order's input and begin the attempt, or return the stored reply.

    Raises:
        ConversationError: the opening message was delivered by another turn.
    """
    stored = requests.answered(tx, order.key)
    if stored is not None:
        return stored
    if order.lost is not None:
        _record_lost(tx, order, order.lost)
    started = Entry.of(
        order.key,
        EventKind.ATTEMPT_STARTED,
        attempt=order.failures.attempt,
        model=order.model,
    )
    events.append(tx, order.key.conversation, [*_deliver(tx, order), started])
    requests.begin_attempt(tx, order.key, order.failures.attempt)
    return Opening(
        workspace=Path(conversations.get(tx, order.key.conversation).workspace),
        used_ids=_used_ids(tx, order) if order.key.request > 1 else set(),
    )


def keep_reply(
    tx: Connection,
    order: RequestOrder,
    reply: ModelReply,
    accepted: Acceptance,
    *,
    sandbox: bool,
    has_deltas: bool,
) -> RequestReply:
    """Store a complete reply, unless another attempt's is there; return what is stored."""
    key = order.key
    result = RequestReply(key=key, calls=tuple(one.call for one in accepted.calls))
    first = requests.keep_answer(
        tx, result, model=order.model, usage=reply.usage, identifiers=reply.identifiers
    )
    requests.end_attempt(
        tx,
        key,
        order.failures.attempt,
        outcome="answered" if first else "superseded",
        output_started=True,
        identifiers=reply.identifiers,
    )
    if not first:
        return requests.answered(tx, key) or result
    if has_deltas:
        events.prune(tx, key)
    items.put(tx, key, items.Phase.REPLY, list(enumerate(accepted.items)))
    calls.accept(tx, key, [one.record for one in accepted.calls])
    shown = [
        Entry.of(key, EventKind.ANSWER, text=reply.text, reasoning=reply.reasoning),
        Entry.of(key, EventKind.USAGE, **reply.usage.model_dump()),
    ]
    for one in accepted.calls:
        shown += _shown_call(order, one, sandbox=sandbox)
    events.append(tx, key.conversation, shown)
    for one in accepted.calls:
        if one.result is not None:
            calls.conclude(tx, key.call(one.call.ordinal), one.result)
    return result


def keep_failure(tx: Connection, order: RequestOrder, error: ProviderError) -> RequestFailure:
    """Record a failed attempt and tell the screens what follows."""
    failure = RequestFailure(
        kind=error.kind,
        retryable=error.retryable,
        output_started=error.output_started,
        retry_after=None if error.retry_after is None else timedelta(seconds=error.retry_after),
    )
    requests.end_attempt(
        tx,
        order.key,
        order.failures.attempt,
        outcome=failure.kind.value,
        output_started=failure.output_started,
        message=str(error),
        identifiers=error.identifiers,
    )
    _show_failure(tx, order, failure, str(error))
    return failure


def keep_cancellation(tx: Connection, order: RequestOrder, *, output_started: bool) -> None:
    """Record an attempt that was cancelled."""
    requests.end_attempt(
        tx,
        order.key,
        order.failures.attempt,
        outcome="cancelled",
        output_started=output_started,
    )


def _record_lost(tx: Connection, order: RequestOrder, lost: RequestFailure) -> None:
    attempt = order.failures.attempt - 1
    requests.end_lost_attempt(tx, order.key, attempt, lost)
    before = order.model_copy(update={"failures": order.failures.minus(lost)})
    _show_failure(tx, before, lost, requests.LOST)


def _show_failure(
    tx: Connection, order: RequestOrder, failure: RequestFailure, message: str
) -> None:
    """Announce a failed attempt with its partial text, which replaces its deltas."""
    attempt = order.failures.attempt
    retry = retries.decide(order.key, order.failures, failure)
    entry = Entry.of(
        order.key,
        EventKind.ATTEMPT_FAILED,
        attempt=attempt,
        failure=failure.kind.value,
        message=message,
        output_started=failure.output_started,
        delay=None if retry.delay is None else retry.delay.total_seconds(),
        final=retry.delay is None,
        partial=events.partial_text(tx, order.key, attempt),
    )
    events.prune(tx, order.key)
    events.append(tx, order.key.conversation, [entry])


def _used_ids(tx: Connection, order: RequestOrder) -> set[str]:
    query = select(CALLS.c.call_id).where(
        CALLS.c.conversation == order.key.conversation, CALLS.c.turn == order.key.turn
    )
    return set(tx.execute(query).scalars())


def _deliver(tx: Connection, order: RequestOrder) -> list[Entry]:
    """Put the order's messages and notices before the request, each exactly once."""
    key = order.key
    if not (order.opening or order.steering or order.deliveries):
        return []
    fresh: list[Item] = []
    if order.opening is not None:
        claimed = messages.claim(tx, key, order.opening)
        if claimed is messages.Claim.ELSEWHERE:
            raise ConversationError("The message was delivered by an earlier turn")
        if claimed is not messages.Claim.HERE:
            if not turns.open_turn(tx, key, order.opening):
                raise ConversationError(f"Turn {key.turn} was opened by another message")
            fresh.append(UserItem(message=order.opening, text=claimed))
    for message in order.steering:
        claimed = messages.claim(tx, key, message)
        if not isinstance(claimed, messages.Claim):
            fresh.append(UserItem(message=message, text=claimed, steering=True))
    fresh += [item for job in order.deliveries if (item := _claim_job(tx, order, job))]
    place = _next_input(tx, order)
    items.put(tx, key, items.Phase.INPUT, list(enumerate(fresh, place)))
    return [_shown_input(order, item) for item in fresh]


def _claim_job(tx: Connection, order: RequestOrder, job: str) -> NoticeItem | None:
    key = order.key
    note = jobs.find(tx, key.conversation, job)
    unclaimed = (JOBS.c.conversation == key.conversation) & (JOBS.c.job == job)
    claim = update(JOBS).where(unclaimed & JOBS.c.turn.is_(None))
    if not tx.execute(claim.values(turn=key.turn, request=key.request)).rowcount:
        return None
    captures.mark_delivered(tx, note.execution)
    state = note.state.value if note.state else "unknown"
    return NoticeItem(text=f"Job {job} ({note.label}) ended: {state}.\n{note.text or ''}", job=job)


def _shown_input(order: RequestOrder, item: Item) -> Entry:
    match item:
        case UserItem(steering=False):
            body = {"message": item.message, "text": item.text}
            return Entry.of(order.key, EventKind.TURN_STARTED, **body)
        case UserItem():
            body = {"message": item.message, "text": item.text}
            return Entry.of(order.key, EventKind.STEERING, **body)
        case NoticeItem():
            return Entry.of(order.key, EventKind.NOTICE, text=item.text, job=item.job)
        case _:
            raise TypeError(f"{item.kind} is no input")


def _next_input(tx: Connection, order: RequestOrder) -> int:
    key = order.key
    query = select(ITEMS.c.ordinal).where(
        ITEMS.c.conversation == key.conversation,
        ITEMS.c.turn == key.turn,
        ITEMS.c.request == key.request,
        ITEMS.c.phase == int(items.Phase.INPUT),
    )
    return len(tx.execute(query).all())


def _shown_call(order: RequestOrder, one: Accepted, *, sandbox: bool) -> list[Entry]:
    key, ordinal = order.key, one.call.ordinal
    state = "asked" if one.call.verdict is Verdict.ASK else "accepted"
    entries = [
        Entry.of(
            key,
            EventKind.CALL,
            ordinal=ordinal,
            tool=one.record.tool,
            label=one.label,
            arguments=one.record.arguments,
            state=state,
        )
    ]
    if one.call.verdict is Verdict.ASK:
        question = PermissionRequest(key=key.call(ordinal), tool=one.record.tool)
        entries.append(
            Entry.of(
                key,
                EventKind.PERMISSION_ASKED,
                ordinal=ordinal,
                request=question.id,
                tool=one.record.tool,
                command=one.question,
                arguments=one.record.arguments,
                sandbox=sandbox,
            )
        )
    return entries
