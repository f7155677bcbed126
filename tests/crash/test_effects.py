"""The worker dies while a tool works: what its effect class says happens."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from activities.provider.scripted.script import Reply
from activities.store import calls
from tests.crash import effect_supervisor
from tests.crash.conftest import Begin
from tests.product.harness import Product, installed, until
from tests.product.replies import HEAD_START, TEXT, call, edit, reply
from tests.product.talk import Talk
from workflows.contracts.event import EventKind
from workflows.contracts.key import CallKey
from workflows.contracts.tool import CallStatus

pytestmark = pytest.mark.timeout(300)

ANSWER = reply(TEXT, results=1)
UNKNOWN = (
    "test.effect was interrupted and its outcome is unknown. It may have taken effect, fully or "
    "in part: inspect before repeating it."
)


@pytest.fixture(scope="module")
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """A product whose worker has one tool more of each effect class."""
    place = tmp_path_factory.mktemp("product")
    async with installed(place, effect_supervisor.command) as product:
        yield product


def tool(kind: str) -> Reply:
    """Return a reply that calls the tool of *kind*."""
    return reply("", call(f"test.{kind}", label="one"))


def let(talk: Talk, *steps: str) -> None:
    """Let the tool do its thing (``do``), or end (``end``)."""
    for step in steps:
        (talk.workspace / f"{step}-one").touch()


async def found(talk: Talk, request: int) -> calls.CallRecord:
    """Return what the store knows of the first call of a request."""
    key = CallKey(conversation=talk.record.id, turn=1, request=request, ordinal=0)
    return await talk.product.database.read(lambda tx: calls.find(tx, key))


async def until_intended(talk: Talk, request: int = 1) -> None:
    """Wait until an attempt has noted that it is about to begin the call."""
    await talk.until("a call", lambda _: any(e.request == request for e in talk.calls()))

    async def is_intended() -> bool:
        return (await found(talk, request)).intended is not None

    await until("the note before the effect", is_intended, talk.product.story)


async def must_be_unknown(talk: Talk, effects: list[str]) -> None:
    """Check that the model heard the truth, and that the turn went on."""
    assert await talk.completed() == TEXT
    assert talk.effects() == effects
    assert talk.told() == [UNKNOWN]
    assert [result.status for result in await talk.results()] == [CallStatus.UNKNOWN]


async def test_an_effect_before_it_was_ordered(product: Product, begin: Begin) -> None:
    """Nothing can have happened yet, so even an effect is run."""
    talk = await begin(replace(tool("effect"), first_delay=HEAD_START), ANSWER)
    let(talk, "do", "end")
    await talk.say()
    await talk.until_asked()
    with product.halted("server"):
        await talk.event(EventKind.CALL)
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one"]
    assert talk.told() == ["left one"]


async def test_an_effect_before_it_was_intended(product: Product, begin: Begin) -> None:
    """An attempt that could not write down that it begins has not begun."""
    talk = await begin(replace(tool("effect"), first_delay=HEAD_START), ANSWER)
    let(talk, "do", "end")
    await talk.say()
    await talk.until_asked()
    with ExitStack() as held:
        with product.halted("server"):
            await talk.event(EventKind.CALL)
            held.enter_context(product.locked_store())
        await product.until_running("run_tool", talk.turn_workflow())
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one"]
    assert talk.told() == ["left one"]


async def test_an_effect_before_it_happened(product: Product, begin: Begin) -> None:
    """Nobody can know that, so the model is told that the outcome is unknown."""
    talk = await begin(tool("effect"), ANSWER)
    await talk.say()
    await until_intended(talk)

    product.kill("worker")

    await must_be_unknown(talk, effects=[])


async def test_an_effect_after_it_happened(product: Product, begin: Begin) -> None:
    """It is not repeated."""
    talk = await begin(tool("effect"), ANSWER)
    let(talk, "do")
    await talk.say()
    await talk.until_effect("one")

    product.kill("worker")
    let(talk, "end")

    await must_be_unknown(talk, effects=["one"])


async def test_an_effect_whose_result_is_stored_but_not_reported(
    product: Product, begin: Begin
) -> None:
    """Its outcome is known, so it is not called unknown."""
    talk = await begin(tool("effect"), ANSWER)
    let(talk, "do")
    await talk.say()
    await talk.until_effect("one")
    with product.halted("server"):
        let(talk, "end")
        await talk.event(EventKind.RESULT)
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one"]
    assert talk.told() == ["left one"]


@pytest.mark.parametrize("kind", ["keyed", "observe"])
async def test_a_call_that_may_be_repeated(product: Product, begin: Begin, kind: str) -> None:
    """It is, and the model sees one good result."""
    talk = await begin(tool(kind), ANSWER)
    let(talk, "do")
    await talk.say()
    await talk.until_effect("one")

    product.kill("worker")
    let(talk, "end")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one", "one"]
    assert talk.told() == ["left one"]
    (resumed,) = talk.all(EventKind.CALL_RESUMED)
    assert resumed["resumption"] == "run"


async def test_a_read_whose_result_was_not_stored(product: Product, begin: Begin) -> None:
    """An observation is simply made again."""
    read = reply("", call("resource.read", uri="workspace:notes"))
    talk = await begin(replace(read, first_delay=HEAD_START), ANSWER)
    (talk.workspace / "notes").write_text("first\n")
    await talk.say()
    await talk.until_asked()
    with ExitStack() as held:
        with product.halted("server"):
            await talk.event(EventKind.CALL)
            held.enter_context(product.locked_store())
        await product.until_running("run_tool", talk.turn_workflow())
        product.kill("worker")

    assert await talk.completed() == TEXT
    (told,) = talk.told()
    assert "1|first" in told


async def test_an_edit_that_was_published_but_not_stored(product: Product, begin: Begin) -> None:
    """The repeated edit finds its own work done, and says so, instead of calling it stale."""
    # Large, so that there is time between the note before the edit and its result.
    lines = 300_000
    operation: dict[str, str | int] = {"operation": "insert-after", "line": 1, "text": "between"}
    read = reply("", call("resource.read", uri="workspace:notes", line_count=2))
    change = reply("", edit("workspace:notes", operation), results=1)
    talk = await begin(read, change, reply(TEXT, results=2))
    notes = talk.workspace / "notes"
    notes.write_text("".join(f"line {number}\n" for number in range(1, lines + 1)))
    await talk.say()
    await until_intended(talk, request=2)
    with product.locked_store():
        assert (await found(talk, request=2)).status is None
        await product.until("the edit", lambda: "between" in notes.read_text())
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert notes.read_text().splitlines()[:3] == ["line 1", "between", "line 2"]
    assert notes.read_text().count("between") == 1
    assert "is now revision" in talk.told()[1]
    assert [result.status for result in await talk.results()] == [CallStatus.OK] * 2
