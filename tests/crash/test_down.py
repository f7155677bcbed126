"""``autolith down`` in the middle of things, and ``autolith up`` again."""

import asyncio
import gc
from typing import Any

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import PARTIAL, TEXT, gated, job, reply, shell, slow, stalls
from workflows.contracts.event import EventKind
from workflows.contracts.job import JobState

pytestmark = pytest.mark.timeout(300)


async def test_while_the_model_streams_on_for_a_moment(product: Product, begin: Begin) -> None:
    """A stream that ends within the grace of a stopping worker is not cut off."""
    talk = await begin(slow(reply(TEXT), seconds=2.0))
    await talk.say()
    await talk.event(EventKind.TEXT)

    await product.output("down")
    await product.output("up")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "answered", True)]
    assert len(talk.requests) == 1


async def test_while_the_model_streams_without_an_end(product: Product, begin: Begin) -> None:
    """It is let go of, with what there was, and asked again by the next worker."""
    talk = await begin(stalls(reply(TEXT)), reply(TEXT))
    await talk.say()
    await talk.until_shown(PARTIAL)

    await product.output("down")
    await product.output("up")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "worker-lost", True), (1, 2, "answered", True)]
    (failed,) = talk.all(EventKind.ATTEMPT_FAILED)
    assert failed["partial"] == PARTIAL


async def test_while_commands_run(product: Product, begin: Begin) -> None:
    """They run on while nothing of ours does, and are found by the next worker."""
    both = reply("", shell(gated("one")), job(gated("two")))
    talk = await begin(both, reply(TEXT, results=2))
    await talk.say()
    for label in ("one", "two"):
        await talk.until_effect(f"{label} started")

    await product.output("down")
    for label in ("one", "two"):
        talk.allow(label)
        await talk.until_effect(f"{label} ended")
    await product.output("up")

    assert await talk.completed() == TEXT
    assert len(talk.effects()) == 4
    assert talk.told()[0].startswith("exit 0\nhalf of one\nall of one")
    finished = await talk.event(EventKind.JOB_FINISHED)
    assert finished.body["state"] == JobState.COMPLETED


async def test_a_client_that_stays(product: Product, begin: Begin) -> None:
    """It finds the next runtime by itself, and nothing is said of how that went."""
    talk = await begin(reply(TEXT, user="First."), reply(TEXT, user="Second."))
    unheard: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: unheard.append(context))
    try:
        await talk.say("First.")
        await talk.completed()

        await product.output("down")
        await product.output("up")
        await talk.say("Second.")

        assert await talk.completed(turn=2) == TEXT
        gc.collect()
        # A session ends with whatever asyncio has to complain about.
        assert unheard == []
    finally:
        loop.set_exception_handler(None)
