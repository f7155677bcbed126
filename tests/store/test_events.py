"""The event log: gapless, in commit order, followed from a cursor, pruned of deltas."""

import asyncio
import threading
from contextlib import aclosing

import pytest

from activities.errors import UnknownConversationError
from activities.store import events
from activities.store.database import Database
from activities.store.events import Entry
from activities.store.tail import follow
from tests.store.conftest import CONVERSATION
from workflows.contracts.event import EventKind
from workflows.contracts.key import RequestKey

KEY = RequestKey(conversation=CONVERSATION, turn=1, request=1)


def _delta(text: str) -> Entry:
    return Entry.of(KEY, EventKind.TEXT, attempt=1, text=text)


async def test_a_reader_gets_what_follows_its_cursor(database: Database) -> None:
    """Reading again from the last cursor yields nothing that was seen, and all that was not."""
    first = await database.write(
        lambda tx: events.append(tx, CONVERSATION, [_delta("a"), _delta("b")])
    )
    await database.write(lambda tx: events.append(tx, CONVERSATION, [_delta("c")]))

    found = await database.read(lambda tx: events.after(tx, CONVERSATION, first))

    assert first == 2
    assert [(event.seq, event.body["text"]) for event in found] == [(3, "c")]


async def test_an_unknown_conversation_has_no_log(database: Database) -> None:
    """Nothing is appended for a conversation that does not exist."""
    with pytest.raises(UnknownConversationError):
        await database.write(lambda tx: events.append(tx, "nobody", [_delta("a")]))


async def test_deltas_go_when_the_item_lands_and_others_stay(database: Database) -> None:
    """Pruning one request leaves its other events and every other request alone."""
    other = Entry.of(
        KEY.model_copy(update={"request": 2}), EventKind.TEXT, attempt=1, text="later"
    )
    answer = Entry.of(KEY, EventKind.ANSWER, text="ab")
    log = [_delta("a"), _delta("b"), other, answer]
    await database.write(lambda tx: events.append(tx, CONVERSATION, log))

    await database.write(lambda tx: events.prune(tx, KEY))
    left = await database.read(lambda tx: events.after(tx, CONVERSATION, 0))

    assert [(event.kind, event.request) for event in left] == [
        (EventKind.TEXT, 2),
        (EventKind.ANSWER, 1),
    ]


async def test_concurrent_writers_leave_no_gap_and_no_reader_misses_a_row(
    url: str, database: Database
) -> None:
    """A follower sees every number once and in order while four writers race."""
    writers, each = 4, 25
    seen: list[int] = []

    def write() -> None:
        own = Database.open(url)
        for _ in range(each):
            own.write_now(lambda tx: events.append(tx, CONVERSATION, [_delta("x")]))
        own.close()

    threads = [threading.Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(60), aclosing(follow(database, CONVERSATION)) as log:
        async for event in log:
            if event is not None:
                seen.append(event.seq)
            if len(seen) == writers * each:
                break

    assert seen == list(range(1, writers * each + 1))


async def test_a_follower_reads_more_than_one_page(database: Database) -> None:
    """A long log arrives whole."""
    log = [_delta(str(number)) for number in range(events.PAGE * 2 + 7)]
    await database.write(lambda tx: events.append(tx, CONVERSATION, log))
    texts: list[str] = []

    async with asyncio.timeout(60), aclosing(follow(database, CONVERSATION)) as found:
        async for event in found:
            if event is None:
                break
            texts.append(event.body["text"])

    assert texts == [str(number) for number in range(len(log))]
