"""The worker dies with a write of its own half done: the next one completes it."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import HEAD_START, TEXT, gated, reply, shell
from workflows.contracts.event import EventKind

pytestmark = pytest.mark.timeout(300)


async def test_before_a_message_is_delivered(product: Product, begin: Begin) -> None:
    """It opens its turn once, and the model hears it once."""
    talk = await begin(reply(TEXT))
    message = await product.conversations.keep(talk.record, "Go on.")
    with product.locked_store():
        await talk.submit(message)
        await product.until_running("request_model", talk.turn_workflow())
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert talk.heard() == ["Go on."]
    assert len(talk.requests) == 1


async def test_before_the_result_of_a_command_is_stored(product: Product, begin: Begin) -> None:
    """The command has ended, and its outcome is found."""
    talk = await begin(reply("", shell(gated("one"))), reply(TEXT, results=1))
    await talk.say()
    await talk.until_effect("one started")
    with product.locked_store():
        talk.allow("one")
        await talk.until_effect("one ended")
        product.kill("worker")

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started", "one ended"]
    assert talk.told() == ["exit 0\nhalf of one\nall of one"]


async def test_before_the_turn_is_closed(product: Product, begin: Begin) -> None:
    """It is closed once, by the next worker."""
    talk = await begin(reply(TEXT, user="Next."), replace(reply(TEXT), first_delay=HEAD_START))
    await talk.say()
    await talk.until_asked()
    with ExitStack() as held:
        with product.halted("server"):
            await talk.event(EventKind.ANSWER)
            held.enter_context(product.locked_store())
        await product.until_running("close_turn", talk.turn_workflow())
        product.kill("worker")

    assert await talk.completed() == TEXT
    await talk.say("Next.")
    assert await talk.completed(turn=2) == TEXT
    assert len(talk.requests) == 2
