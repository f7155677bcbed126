"""The worker dies while a command runs."""

import os
import signal
from dataclasses import replace

import pytest

from activities.shell.invocation import executions_root
from activities.shell.records import OUTCOME
from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import HEAD_START, TEXT, gated, job, reply, shell, stalls
from tests.product.talk import Talk
from workflows.contracts.event import EventKind
from workflows.contracts.job import JobState

pytestmark = pytest.mark.timeout(300)

COMMAND = reply("", shell(gated("one")))
ANSWER = reply(TEXT, results=1)
RAN = ["one started", "one ended"]


async def test_as_soon_as_the_call_is_accepted(product: Product, begin: Begin) -> None:
    """Whatever the dead worker still did of it, the command runs once."""
    talk = await begin(COMMAND, ANSWER)
    talk.allow("one")
    await talk.say()
    await talk.event(EventKind.CALL)

    product.kill("worker")

    await must_have_run_once(talk)


async def test_before_it_was_started(product: Product, begin: Begin) -> None:
    """A call that never began is simply run."""
    talk = await begin(replace(COMMAND, first_delay=HEAD_START), ANSWER)
    talk.allow("one")
    await talk.say()
    await talk.until_asked()
    with product.halted("server"):
        await talk.event(EventKind.CALL)
        product.kill("worker")

    await must_have_run_once(talk)
    assert talk.all(EventKind.CALL_RESUMED) == []


async def test_in_the_middle_and_again(product: Product, begin: Begin) -> None:
    """It goes on without a worker, and the next one adopts it, however often."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.event(EventKind.CALL_OUTPUT, line="half of one")

    for attempt in (2, 3):
        product.kill("worker")
        resumed = await talk.event(EventKind.CALL_RESUMED, attempt=attempt)
        assert resumed.body["resumption"] == "adopt"
    talk.allow("one")

    await must_have_run_once(talk)


async def test_it_ends_while_there_is_no_worker(product: Product, begin: Begin) -> None:
    """The next worker finds how it ended."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.until_effect("one started")

    with product.halted("supervisor"):
        product.kill("worker")
        talk.allow("one")
        outcome = executions_root(product.roots.state) / f"{talk.record.id}.1.1.0" / OUTCOME
        await product.until("the outcome", outcome.exists)

    await must_have_run_once(talk)
    (resumed,) = talk.all(EventKind.CALL_RESUMED)
    assert resumed["resumption"] == "adopt"


async def test_after_its_result_is_stored_but_before_it_is_reported(
    product: Product, begin: Begin
) -> None:
    """The stored result is the result."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.until_effect("one started")

    with product.halted("server"):
        talk.allow("one")
        await talk.event(EventKind.RESULT)
        product.kill("worker")

    await must_have_run_once(talk)
    assert talk.all(EventKind.CALL_RESUMED) == []


async def test_the_command_dies_with_the_worker(product: Product, begin: Begin) -> None:
    """Then nobody knows how far it came, and the model is told so."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.until_effect("one started")

    with product.halted("supervisor"):
        product.kill("worker")
        for process in product.runners(f"{talk.record.id}.1.1.0"):
            os.kill(process.pid, signal.SIGKILL)

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started"]
    (told,) = talk.told()
    assert "outcome is unknown: inspect" in told
    assert "one ended" not in told


async def test_a_job_ends_while_there_is_no_worker(product: Product, begin: Begin) -> None:
    """The model is told once, also when the request that tells it is sent twice."""
    running, heard = (
        reply("It runs.", results=1),
        reply("Heard.", results=1, user="ended: completed"),
    )
    talk = await begin(reply("", job(gated("one"))), stalls(heard, after=1), heard, running)
    await talk.say()
    assert await talk.completed() == "It runs."

    with product.halted("supervisor"):
        product.kill("worker")
        talk.allow("one")
        await talk.until_effect("one ended")
    await talk.until_status(lambda s: [j.state for j in s.jobs] == [JobState.COMPLETED])

    await talk.say("How did it go?")
    await talk.event(EventKind.TEXT, turn=2)
    product.kill("worker")
    assert await talk.completed(turn=2) == "Heard."
    assert talk.effects() == RAN
    assert ["ended: completed" in text for text in talk.heard()].count(True) == 1
    assert len(talk.all(EventKind.JOB_STARTED)) == len(talk.all(EventKind.JOB_FINISHED)) == 1
    assert len(talk.all(EventKind.NOTICE)) == 1


async def must_have_run_once(talk: Talk) -> None:
    """Check that the turn went on after one run of the one command."""
    assert await talk.completed() == TEXT
    assert talk.effects() == RAN
    (told,) = talk.told()
    assert told.startswith("exit 0\nhalf of one\nall of one"), told
    assert len(talk.requests) == 2
