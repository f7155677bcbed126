"""Something is killed again and again, wherever it may be, in a turn of many quick calls."""

import asyncio
import random
from collections import Counter

import pytest

from activities.provider.scripted.script import Reply, ScriptedCall
from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import TEXT, call, edit, reply, shell
from tests.product.talk import Talk
from workflows.contracts.event import EventKind
from workflows.contracts.tool import CallStatus

pytestmark = pytest.mark.timeout(600)

ROUNDS = 20
MOST_EVENTS = 14
"""How far the turn may come between two kills; one round takes eleven events."""
LONGEST_PAUSE = 0.05
"""Seconds, so that a kill also comes between two events."""


@pytest.mark.parametrize(
    "victims",
    [["worker"] * 8, ["server", "worker", "supervisor", "worker"]],
    ids=["the-worker", "everything-in-turn"],
)
async def test_everything_happens_once(product: Product, begin: Begin, victims: list[str]) -> None:
    """Each call has one good result in order, and no stored answer is asked for again."""
    dice = random.Random(len(victims))
    talk = await begin(*script())
    (talk.workspace / "notes").write_text("first\n")
    await talk.say()
    for victim in victims:
        await until_further(talk, dice.randint(1, MOST_EVENTS))
        await asyncio.sleep(dice.uniform(0.0, LONGEST_PAUSE))
        await kill(product, victim)
    assert talk.all(EventKind.TURN_ENDED) == [], "the turn was over before the last kill"

    assert await talk.completed() == TEXT
    edits = [f"edit {number}" for number in reversed(range(ROUNDS))]
    assert talk.effects("notes") == ["first", *edits]
    commands = {f"{number}{letter}" for number in range(ROUNDS) for letter in "ab"}
    assert Counter(talk.effects()) == Counter(commands)
    statuses = [result.status for result in await talk.results()]
    assert statuses == [CallStatus.OK] * results_before(ROUNDS)
    await must_not_have_asked_in_vain(talk)


def script() -> list[Reply]:
    """Return a read, rounds of calls that each build on the one before, and the answer."""
    read = call("resource.read", uri="workspace:notes")
    rounds = [
        reply("", *calls(number), read, results=results_before(number)) for number in range(ROUNDS)
    ]
    return [reply("", read), *rounds, reply(TEXT, results=results_before(ROUNDS))]


def calls(number: int) -> list[ScriptedCall]:
    """Return an edit of what the newest read showed, and two commands side by side."""
    line: dict[str, str | int] = {"operation": "insert-after", "line": 1, "text": f"edit {number}"}
    commands = [shell(f"echo {number}{letter} >> effects") for letter in "ab"]
    return [edit("workspace:notes", line), *commands]


def results_before(number: int) -> int:
    """Return how many results there are before a round."""
    return 1 + 4 * number


async def until_further(talk: Talk, events: int) -> None:
    """Wait until the log has grown by so many *events*."""
    reached = len(talk.seen) + events
    await talk.until(f"{events} more events", lambda seen: len(seen) >= reached)


async def kill(product: Product, victim: str) -> None:
    """Kill *victim* and see it replaced."""
    old = product.kill(victim)
    if victim == "supervisor":
        await product.up()
    await product.until_back(victim, old)


async def must_not_have_asked_in_vain(talk: Talk) -> None:
    """Check that everything the model was sent is a recorded attempt of its own."""
    recorded = Counter(attempt.request for attempt in await talk.attempts())
    results = [len(talk.told(place)) for place in range(len(talk.requests))]
    sent = Counter(1 + (count + 3) // 4 for count in results)
    assert all(sent[request] <= recorded[request] for request in sent)
    assert max(sent) == max(recorded) == ROUNDS + 2
