"""Keyed rows: written twice, there once; and always in wire order."""

import random
from functools import partial

import pytest

from activities.errors import (
    AmbiguousConversationError,
    ConversationError,
    UnknownConversationError,
)
from activities.store import calls, conversations, events, items, jobs, messages, requests, turns
from activities.store.database import Database
from activities.store.items import Phase
from tests.store.conftest import CONVERSATION
from workflows.contracts.event import EventKind
from workflows.contracts.item import AssistantItem, CallItem, Item, ResultItem, UserItem
from workflows.contracts.job import JobState
from workflows.contracts.key import RequestKey
from workflows.contracts.provider import RequestReply
from workflows.contracts.tool import CallStatus
from workflows.contracts.turn import TurnClosing, TurnOutcome
from workflows.contracts.usage import Usage

FIRST = RequestKey(conversation=CONVERSATION, turn=1, request=1)
SECOND = RequestKey(conversation=CONVERSATION, turn=1, request=2)


def _result(ordinal: int, text: str = "done") -> ResultItem:
    return ResultItem(
        ordinal=ordinal, call_id=f"c{ordinal}", tool="shell.run", status=CallStatus.OK, text=text
    )


async def test_history_is_in_wire_order_however_it_was_written(database: Database) -> None:
    """Results that finish out of order, and requests written late, sort into place."""
    wire: list[tuple[RequestKey, Phase, int, Item]] = [
        (FIRST, Phase.INPUT, 0, UserItem(message="m", text="hello")),
        (FIRST, Phase.REPLY, 0, AssistantItem(text="let me see")),
        (FIRST, Phase.REPLY, 1, CallItem(ordinal=0, call_id="c0", tool="t", arguments="{}")),
        (FIRST, Phase.REPLY, 2, CallItem(ordinal=1, call_id="c1", tool="t", arguments="{}")),
        (FIRST, Phase.RESULT, 0, _result(0)),
        (FIRST, Phase.RESULT, 1, _result(1)),
        (SECOND, Phase.INPUT, 0, UserItem(message="n", text="and this", steering=True)),
        (SECOND, Phase.REPLY, 0, AssistantItem(text="all done")),
    ]
    shuffled = random.Random(7).sample(wire, len(wire))

    for key, phase, ordinal, item in shuffled * 2:
        placed = [(ordinal, item)]
        await database.write(partial(items.put, key=key, phase=phase, items=placed))
    history = await database.read(lambda tx: items.history(tx, CONVERSATION))

    assert history == tuple(item for _, _, _, item in wire)


async def test_the_first_result_of_a_call_counts(database: Database) -> None:
    """A late second result changes nothing and learns the first."""
    record = calls.CallRecord(
        ordinal=0, call_id="c0", tool="shell.run", arguments="{}", verdict="allow"
    )
    await database.write(lambda tx: calls.accept(tx, FIRST, [record]))
    key = FIRST.call(0)
    cancelled = _result(0, "cancelled").model_copy(update={"status": CallStatus.CANCELLED})

    first = await database.write(lambda tx: calls.conclude(tx, key, cancelled))
    second = await database.write(lambda tx: calls.conclude(tx, key, _result(0)))
    log = await database.read(lambda tx: events.after(tx, CONVERSATION, 0))

    assert first == second
    assert first.status is CallStatus.CANCELLED
    assert [event.body["text"] for event in log if event.kind is EventKind.RESULT] == ["cancelled"]


async def test_a_reply_is_kept_once(database: Database) -> None:
    """Two attempts that both finish leave one answer."""
    reply = RequestReply(key=FIRST)

    kept = [
        await database.write(
            lambda tx: requests.keep_answer(tx, reply, model="m", usage=Usage(), identifiers={})
        )
        for _ in range(2)
    ]

    assert kept == [True, False]
    assert await database.read(lambda tx: requests.answered(tx, FIRST)) == reply
    assert await database.read(lambda tx: requests.answered(tx, SECOND)) is None


async def test_a_message_is_kept_and_delivered_once(database: Database) -> None:
    """Only the request that claimed a message ever delivers it."""
    for _ in range(2):
        await database.write(
            lambda tx: messages.keep(tx, CONVERSATION, "m", "hello", delivery="queue")
        )

    claims = [
        await database.write(partial(messages.claim, key=key, message="m"))
        for key in (FIRST, FIRST, SECOND)
    ]
    log = await database.read(lambda tx: events.after(tx, CONVERSATION, 0))

    assert claims == ["hello", messages.Claim.HERE, messages.Claim.ELSEWHERE]
    assert [event.kind for event in log] == [EventKind.MESSAGE]


async def test_a_message_of_another_conversation_is_refused(database: Database) -> None:
    """A replayed payload cannot carry a message across."""
    await database.write(
        lambda tx: messages.keep(tx, CONVERSATION, "m", "hello", delivery="queue")
    )
    elsewhere = RequestKey(conversation="Other", turn=1, request=1)

    with pytest.raises(ConversationError, match="not in the store of this conversation"):
        await database.write(lambda tx: messages.claim(tx, elsewhere, "m"))


async def test_conversations_are_found_by_the_beginning_of_their_id(database: Database) -> None:
    """Case counts, hyphens do not, and an ambiguous beginning is refused."""
    twin = conversations.ConversationRecord(
        id="Conv9999", created=2.0, active=2.0, workspace="/w", host="h"
    )
    await database.write(lambda tx: conversations.create(tx, twin))

    found = await database.read(lambda tx: conversations.find(tx, "Conv-12"))
    assert found.id == CONVERSATION
    with pytest.raises(AmbiguousConversationError):
        await database.read(lambda tx: conversations.find(tx, "Conv"))
    for wrong in ("conv1234", "X", "", "Conv1234x", "%"):
        with pytest.raises(UnknownConversationError):
            await database.read(partial(conversations.find, abbreviation=wrong))
    assert [c.id for c in database.read_now(conversations.newest_first)] == [
        "Conv9999",
        CONVERSATION,
    ]


async def test_a_turn_is_closed_once(database: Database) -> None:
    """The first outcome stays."""
    await database.write(lambda tx: turns.open_turn(tx, FIRST, "m"))
    outcomes = (TurnOutcome.CANCELLED, TurnOutcome.FAILED)

    closed = [
        await database.write(
            partial(turns.close_turn, closing=TurnClosing(key=FIRST, outcome=outcome))
        )
        for outcome in outcomes
    ]
    record = database.read_now(lambda tx: turns.all_turns(tx, CONVERSATION))[0]

    assert closed == [True, False]
    assert record.outcome == "cancelled"


async def test_a_job_ends_once(database: Database) -> None:
    """The second watcher learns the first outcome and nothing is announced twice."""
    await database.write(lambda tx: jobs.begin(tx, CONVERSATION, "j-1", "x", "sleep"))

    states = [
        await database.write(
            partial(jobs.end, conversation=CONVERSATION, job="j-1", state=state, text="text")
        )
        for state in (JobState.COMPLETED, JobState.UNKNOWN)
    ]
    log = await database.read(lambda tx: events.after(tx, CONVERSATION, 0))

    assert states == [JobState.COMPLETED, JobState.COMPLETED]
    assert [event.kind for event in log] == [EventKind.JOB_STARTED, EventKind.JOB_FINISHED]


async def test_a_lost_attempt_is_recorded_beside_its_request(database: Database) -> None:
    """What its own worker could not write down, the next attempt does; an end is final."""
    await database.write(lambda tx: requests.begin_attempt(tx, FIRST, 1))
    for outcome in ("worker-lost", "answered"):
        await database.write(
            partial(
                requests.end_attempt, key=FIRST, attempt=1, outcome=outcome, output_started=True
            )
        )

    found = database.read_now(lambda tx: requests.attempts(tx, CONVERSATION))

    assert [(a.request, a.attempt, a.outcome, a.output_started) for a in found] == [
        (1, 1, "worker-lost", True)
    ]
