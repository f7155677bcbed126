"""The Temporal server dies; client and worker reconnect, and nothing is doubled."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import TEXT, gated, reply, shell, slow
from tests.product.talk import Talk
from workflows.contracts.event import EventKind

pytestmark = pytest.mark.timeout(300)

COMMAND = reply("", shell(gated("one")))
OUTAGE_SECONDS = 17.0
"""Longer than the SDK holds on to a result (about nine seconds), and than fifteen."""


async def test_while_the_model_streams(product: Product, begin: Begin) -> None:
    """The stream does not pass through it."""
    talk = await begin(slow(reply(TEXT), seconds=3.0))
    await talk.say()
    await talk.event(EventKind.TEXT)

    product.kill("server")

    assert await talk.completed() == TEXT
    assert TEXT.startswith(talk.shown(1))
    assert len(talk.requests) == 1
    assert await talk.outcomes() == [(1, 1, "answered", True)]


async def test_while_a_command_runs(product: Product, begin: Begin) -> None:
    """The command is watched on, and its end is heard."""
    talk = await begin(COMMAND, reply(TEXT, results=1))
    await talk.say()
    await talk.until_effect("one started")

    await product.replace("server")
    talk.allow("one")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started", "one ended"]
    assert len(talk.requests) == 2


async def test_before_a_message_is_sent(product: Product, begin: Begin) -> None:
    """The client waits for the server and delivers its message once."""
    talk = await begin(reply(TEXT, user="First."), reply(TEXT, user="Second."))
    await talk.say("First.")
    await talk.completed()

    product.kill("server")
    await talk.say("Second.")

    assert await talk.completed(turn=2) == TEXT
    assert talk.heard() == ["First.", "Second."]
    assert len(talk.requests) == 2


async def test_an_outage_longer_than_patience(product: Product, tmp_path: Path) -> None:
    """What ended in it is found; what still goes on is taken up again, and not ended."""
    replies = (
        slow(reply(TEXT, model="streams"), seconds=4.0),
        replace(slow(reply(TEXT, model="goes-on"), seconds=OUTAGE_SECONDS + 5), uses=1),
        reply(TEXT, model="goes-on"),
        *(
            reply(TEXT, *calls, results=results, model=model)
            for model in ("runs", "stays")
            for results, calls in enumerate([[shell(gated("one"))], []])
        ),
    )
    async with product.model(*replies) as provider:
        talks = [
            await Talk.open(product, provider, tmp_path / model, model)
            for model in ("streams", "goes-on", "runs", "stays")
        ]
        streams, goes_on, runs, stays = talks
        for talk in (runs, stays):
            await talk.say()
            await talk.until_effect("one started")
        for talk in (goes_on, streams):
            await talk.say()
            await talk.event(EventKind.TEXT)

        with product.halted("supervisor"):
            server = product.kill("server")
            over = asyncio.create_task(asyncio.sleep(OUTAGE_SECONDS))
            runs.allow("one")
            await runs.event(EventKind.RESULT)
            await streams.event(EventKind.ANSWER)
            await over
        await product.until_back("server", server)
        stays.allow("one")

        for talk in talks:
            assert await talk.completed() == TEXT
        for talk in (runs, stays):
            assert talk.effects() == ["one started", "one ended"]
            assert talk.told()[0].startswith("exit 0")
            assert len(talk.requests) == 2
        assert await streams.outcomes() == [(1, 1, "answered", True)]
        assert len(streams.requests) == 1
        # The engine may give it up for lost before the worker has reached the server again.
        assert len(goes_on.requests) <= 2
