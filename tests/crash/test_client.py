"""The client dies: nobody but the person at the terminal notices."""

import asyncio
import json
from typing import Any

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import PATIENCE, Product
from tests.product.replies import TEXT, gated, reply, shell, slow
from tests.product.talk import Talk
from workflows.contracts.event import DELTAS, EventKind

pytestmark = pytest.mark.timeout(300)


async def test_while_the_model_streams(product: Product, begin: Begin) -> None:
    """The turn goes on, and whoever comes next reads on behind the last line that was seen."""
    talk = await begin(slow(reply(TEXT), seconds=3.0))
    client = await told(talk, "Go on.")
    line = await line_of(client, EventKind.TEXT)

    client.kill()
    await client.wait()

    assert await talk.completed() == TEXT
    rest = await talk.log(line["seq"])
    assert [e.kind for e in rest] == [EventKind.ANSWER, EventKind.USAGE, EventKind.TURN_ENDED]
    assert TEXT.strip() in await product.output("show", talk.record.id)
    assert len(talk.requests) == 1


async def test_while_a_command_runs(begin: Begin) -> None:
    """The command and the turn go on; the whole log can be read from its beginning."""
    talk = await begin(reply("", shell(gated("one"))), reply(TEXT, results=1))
    client = await told(talk, "Go on.")
    await talk.until_effect("one started")

    client.kill()
    await client.wait()
    talk.allow("one")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started", "one ended"]
    kinds = [e.kind for e in await talk.log() if e.kind not in DELTAS]
    assert kinds[:2] == [EventKind.MESSAGE, EventKind.TURN_STARTED]
    assert kinds[-3:] == [EventKind.ANSWER, EventKind.USAGE, EventKind.TURN_ENDED]


async def test_before_its_message_was_acknowledged(product: Product, begin: Begin) -> None:
    """The text is kept; sending it again, even twice, makes one turn of it."""
    talk = await begin(reply(TEXT))
    with product.halted("server"):
        client = await told(talk, "Go on.")
        kept = await talk.event(EventKind.MESSAGE)
        client.kill()
        await client.wait()
    message = kept.body["message"]

    for _ in range(2):
        assert message in await product.output("tell", talk.record.id, "--message", message)

    assert await talk.completed() == TEXT
    assert talk.heard() == ["Go on."]
    assert len(talk.requests) == 1


async def told(talk: Talk, text: str) -> asyncio.subprocess.Process:
    """Start the client that says *text* and prints what happens."""
    options = ("--json", "--permissions", "full", "--conversation", talk.record.id)
    return await talk.product.command("run", *options, text)


async def line_of(client: asyncio.subprocess.Process, kind: EventKind) -> dict[str, Any]:
    """Read what *client* prints until a line is of *kind*, and return that."""
    assert client.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while line := await client.stdout.readline():
            said: dict[str, Any] = json.loads(line)
            if said["kind"] == kind.value:
                return said
    pytest.fail(f"the client ended before {kind.value}")
