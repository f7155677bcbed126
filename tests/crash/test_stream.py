"""The worker dies while the model streams."""

from dataclasses import replace

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import HEAD_START, PARTIAL, TEXT, reply, silent, stalls
from workflows.contracts.event import EventKind

pytestmark = pytest.mark.timeout(300)

ANSWER = reply(TEXT)


async def test_before_the_first_byte(product: Product, begin: Begin) -> None:
    """The request is sent again, as one that had cost nothing yet."""
    talk = await begin(silent(ANSWER), ANSWER)
    await talk.say()
    await talk.until_asked()

    product.kill("worker")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "worker-lost", False), (1, 2, "answered", True)]
    assert [r.outcome for r in talk.requests] == ["hung-up", "complete"]
    (failed,) = talk.all(EventKind.ATTEMPT_FAILED)
    assert (failed["partial"], failed["output_started"], failed["final"]) == ("", False, False)


@pytest.mark.parametrize("after", [3, 12], ids=["some-of-the-text", "all-of-it-but-not-the-end"])
async def test_after_some_output(product: Product, begin: Begin, after: int) -> None:
    """The partial text stays with the failed attempt, and the next one starts over."""
    talk = await begin(stalls(ANSWER, after), ANSWER)
    await talk.say()
    partial = TEXT[: after * 7]
    await talk.until_shown(partial)

    product.kill("worker")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "worker-lost", True), (1, 2, "answered", True)]
    (failed,) = talk.all(EventKind.ATTEMPT_FAILED)
    assert (failed["partial"], failed["output_started"], failed["final"]) == (partial, True, False)
    assert [message["role"] for message in talk.requests[1].body["messages"]] == ["system", "user"]


async def test_after_the_last_byte_but_before_it_is_stored(product: Product, begin: Begin) -> None:
    """An answer that nobody wrote down is asked for again, and counted as one more attempt."""
    talk = await begin(replace(ANSWER, first_delay=HEAD_START))
    await talk.say()
    await talk.until_asked()
    with product.locked_store():
        await product.until("the last byte", lambda: talk.requests[0].outcome == "complete")
        product.kill("worker")

    assert await talk.completed() == TEXT
    outcomes = [
        (request, attempt, outcome) for request, attempt, outcome, _ in await talk.outcomes()
    ]
    assert outcomes == [(1, 1, "worker-lost"), (1, 2, "answered")]
    assert len(talk.requests) == 2


async def test_after_the_answer_is_stored_but_before_it_is_reported(
    product: Product, begin: Begin
) -> None:
    """An answer that is paid for is found, and never asked for again."""
    talk = await begin(replace(ANSWER, first_delay=HEAD_START))
    await talk.say()
    await talk.until_asked()
    with product.halted("server"):
        await talk.event(EventKind.ANSWER)
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "answered", True)]
    assert len(talk.requests) == 1


async def test_three_times_after_output(product: Product, begin: Begin) -> None:
    """Two reconnects are paid for; the third loss ends the turn and says why."""
    talk = await begin(replace(stalls(ANSWER), uses=3), ANSWER)
    await talk.say()
    for attempt in (1, 2, 3):
        await talk.until_shown(PARTIAL, attempt=attempt)
        product.kill("worker")

    assert await talk.ended() == ("failed", "stream-abandoned")
    assert len(talk.requests) == 3
    lost = [(1, attempt, "worker-lost", True) for attempt in (1, 2, 3)]
    assert await talk.outcomes() == lost
    failed = talk.all(EventKind.ATTEMPT_FAILED)
    assert [body["partial"] for body in failed] == [PARTIAL] * 3
    assert [body["final"] for body in failed] == [False, False, True]
    (ended,) = talk.all(EventKind.TURN_ENDED)
    assert "worker was lost" in ended["message"]
    await talk.must_be_whole()

    await talk.say("Once more.")
    assert await talk.completed(turn=2) == TEXT
    assert talk.heard() == ["Go on.", "Once more."]


async def test_before_output_and_after_it_are_counted_apart(
    product: Product, begin: Begin
) -> None:
    """A loss that cost only the wait uses up none of the two reconnects that are paid for."""
    talk = await begin(silent(ANSWER), replace(stalls(ANSWER), uses=2), ANSWER)
    await talk.say()
    await talk.until_asked()
    product.kill("worker")
    for attempt in (2, 3):
        await talk.until_shown(PARTIAL, attempt=attempt)
        product.kill("worker")

    assert await talk.completed() == TEXT
    started = [output_started for _, _, _, output_started in await talk.outcomes()]
    assert started == [False, True, True, True]
