"""Models and tools that behave badly end a call or a turn, and never the worker."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from activities.provider.scripted.script import Reply, ScriptedCall
from tests.crash import effect_supervisor
from tests.crash.conftest import Begin
from tests.product.harness import Product, installed
from tests.product.replies import TEXT, call, edit, reply, shell
from tests.product.talk import Talk
from workflows.contracts.tool import CallStatus
from workflows.policy.bounds import RESULT_CHARACTERS

pytestmark = pytest.mark.timeout(300)

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """A product whose worker has a tool that floods and one that is defective."""
    place = tmp_path_factory.mktemp("product")
    async with installed(place, effect_supervisor.command) as product:
        yield product


@pytest.fixture(autouse=True)
async def _one_worker(product: Product) -> AsyncIterator[None]:
    """The worker that serves before a test is the one that serves after it."""
    await product.up()
    before = product.process("worker")
    yield
    assert product.process("worker") == before
    assert before.is_alive


async def test_ids_that_are_repeated(begin: Begin) -> None:
    """Each call has its own result all the same, and goes back under an id of its own."""
    both = [replace(shell(f"echo {name}"), call_id="call_0") for name in ("left", "right")]
    talk = await begin(reply("", *both), reply("", *both, results=2), reply(TEXT, results=4))
    await talk.say()

    assert await talk.completed() == TEXT
    assert [said.split()[-1] for said in talk.told()] == ["left", "right"] * 2
    ids = [message["tool_call_id"] for message in messages(talk) if message["role"] == "tool"]
    assert len(set(ids)) == 4


async def test_calls_without_ids(begin: Begin) -> None:
    """A call without an id is an interrupted stream (domain reference 15.4): none is made."""
    nameless = replace(shell("echo one >> effects"), call_id="")
    talk = await begin(reply(TEXT, user="Next."), reply("", nameless))
    await talk.say()

    assert await talk.ended() == ("failed", "stream-abandoned")
    assert len(talk.requests) == 3
    assert talk.effects() == []
    await must_go_on(talk)


async def test_as_many_calls_as_are_accepted(begin: Begin) -> None:
    """All of them are made, and their results come back in order."""
    reads = [call("resource.read", uri=f"workspace:f{number}") for number in range(256)]
    talk = await begin(reply("", *reads), reply(TEXT, results=256))
    for number in range(256):
        (talk.workspace / f"f{number}").write_text(f"content of {number}\n")
    await talk.say()

    assert await talk.completed() == TEXT
    assert all(f"content of {number}\n" in f"{text}\n" for number, text in enumerate(talk.told()))


async def test_more_calls_than_that(begin: Begin) -> None:
    """The turn ends and says why; none of them was made."""
    writes = [shell(f"echo {number} >> effects") for number in range(257)]
    talk = await begin(reply(TEXT, user="Next."), reply("", *writes))
    await talk.say()

    assert await talk.ended() == ("failed", "malformed")
    assert talk.effects() == []
    assert "257 calls" in talk.seen[-1].body["message"]
    await must_go_on(talk)


async def test_a_megabyte_of_arguments(begin: Begin) -> None:
    """It is written where it was meant to be, and goes back as it came."""
    text = "x" * MEGABYTE
    create: dict[str, str | int] = {"operation": "replace-empty", "text": f"{text}\n"}
    read = call("resource.read", uri="workspace:large")
    talk = await begin(
        reply("", read),
        reply("", edit("workspace:large", create), results=1),
        reply(TEXT, results=2),
    )
    await talk.say()

    assert await talk.completed() == TEXT
    assert talk.effects("large") == [text]
    assert text in messages(talk)[-2]["tool_calls"][0]["function"]["arguments"]


async def test_a_megabyte_of_a_command(begin: Begin) -> None:
    """The system refuses to run it, which is a result like any other."""
    talk = await begin(reply("", shell(f": {'x' * MEGABYTE}")), reply(TEXT, results=1))
    await talk.say()

    assert await talk.completed() == TEXT
    assert [result.status for result in await talk.results()] == [CallStatus.ERROR]
    assert "Argument list too long" in talk.told()[0]


async def test_arguments_that_are_no_object(begin: Begin) -> None:
    """The model is told, and what it had said goes back in a form that servers can read."""
    broken = ScriptedCall("resource_read", '{"uri": "workspace:')
    talk = await begin(reply("", broken), reply(TEXT, results=1))
    await talk.say()

    assert await talk.completed() == TEXT
    assert [result.status for result in await talk.results()] == [CallStatus.ERROR]


async def test_a_result_of_five_megabytes(begin: Begin) -> None:
    """The model gets both its ends."""
    talk = await begin(odd("flood"), reply(TEXT, results=1))
    await talk.say()

    assert await talk.completed() == TEXT
    (told,) = talk.told()
    assert len(told) <= RESULT_CHARACTERS
    assert told.startswith("first xxx")
    assert told.endswith("xxx last")


async def test_a_command_that_floods(begin: Begin) -> None:
    """Its preview is bounded, and the rest can be read."""
    talk = await begin(reply("", shell("seq 1000000")), reply(TEXT, results=1))
    await talk.say()

    assert await talk.completed() == TEXT
    (told,) = talk.told()
    assert len(told) <= RESULT_CHARACTERS
    assert "6,888,896 bytes observed" in told


async def test_a_tool_with_a_defect(begin: Begin) -> None:
    """The turn ends and says so; the call has a result."""
    talk = await begin(odd("defect"), reply(TEXT, user="Next.", results=1))
    await talk.say()

    assert await talk.ended() == ("failed", "internal")
    await must_go_on(talk)
    assert len(await talk.results()) == 1


def odd(kind: str) -> Reply:
    """Return a reply that calls one of the tools of the test worker."""
    return reply("", call(f"test.{kind}", label="one"))


def messages(talk: Talk) -> list[dict[str, Any]]:
    """Return what the model was sent last."""
    found: list[dict[str, Any]] = talk.requests[-1].body["messages"]
    return found


async def must_go_on(talk: Talk) -> None:
    """Check that the next message is answered."""
    await talk.say("Next.")
    assert await talk.completed(turn=2) == TEXT
