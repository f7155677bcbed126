"""The supervisor dies, alone or with everything else on the machine."""

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import PARTIAL, TEXT, gated, job, reply, shell, stalls
from workflows.contracts.event import EventKind
from workflows.contracts.job import JobState
from workflows.contracts.permission import Answer, PermissionMode
from workflows.contracts.tool import CallStatus

pytestmark = pytest.mark.timeout(300)

COMMAND = reply("", shell(gated("one")))
ANSWER = reply(TEXT, results=1)


async def test_alone(product: Product, begin: Begin) -> None:
    """The turn goes on without it; the next command brings another, which adopts the rest."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.until_effect("one started")
    before = product.runtime()

    product.kill("supervisor")
    talk.allow("one")
    assert await talk.completed() == TEXT
    status = await product.output("up")

    after = product.runtime()
    assert "already runs" not in status
    assert after.supervisor != before.supervisor
    assert (after.server, after.worker) == (before.server, before.worker)
    assert talk.effects() == ["one started", "one ended"]


async def test_with_the_worker(product: Product, begin: Begin) -> None:
    """Nobody restarts the worker until the next command, and nothing is lost until then."""
    talk = await begin(COMMAND, ANSWER)
    await talk.say()
    await talk.until_effect("one started")

    product.kill("supervisor")
    product.kill("worker")
    talk.allow("one")
    await talk.until_effect("one ended")
    client = product.client()
    await client.status(talk.record)

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started", "one ended"]
    (resumed,) = talk.all(EventKind.CALL_RESUMED)
    assert resumed["resumption"] == "adopt"


async def test_a_machine_that_fails_while_commands_run(product: Product, begin: Begin) -> None:
    """After the next boot their outcome is unknown, and the model is told so."""
    both = reply("", shell(gated("one")), job(gated("two")))
    heard = reply("Heard.", results=2, user="outcome is unknown")
    talk = await begin(both, heard, reply(TEXT, results=2))
    await talk.say()
    for label in ("one", "two"):
        await talk.until_effect(f"{label} started")

    await product.reboot("boot-1")
    await talk.ended()
    await talk.until_status(lambda s: s.running is None)

    first, second = await talk.results()
    assert first.status is CallStatus.UNKNOWN
    assert "the machine was restarted" in first.text
    assert "inspect" in first.text
    assert second.status is CallStatus.OK
    assert first.text in talk.told()
    finished = await talk.event(EventKind.JOB_FINISHED)
    assert finished.body["state"] == JobState.UNKNOWN
    assert sorted(talk.effects()) == ["one started", "two started"]
    await talk.must_be_whole()


async def test_a_machine_that_fails_while_the_model_streams(
    product: Product, begin: Begin
) -> None:
    """The request is sent again after the next boot, and the turn goes on."""
    talk = await begin(stalls(reply(TEXT)), reply(TEXT))
    await talk.say()
    await talk.until_shown(PARTIAL)

    await product.reboot("boot-2")

    assert await talk.completed() == TEXT
    assert await talk.outcomes() == [(1, 1, "worker-lost", True), (1, 2, "answered", True)]
    (failed,) = talk.all(EventKind.ATTEMPT_FAILED)
    assert failed["partial"] == PARTIAL


async def test_a_machine_that_fails_while_a_permission_is_open(
    product: Product, begin: Begin
) -> None:
    """The question is still open after the next boot."""
    talk = await begin(COMMAND, ANSWER)
    talk.allow("one")
    await talk.say(mode=PermissionMode.ASK)
    await talk.until_status(lambda status: len(status.pending) == 1)

    await product.reboot("boot-3")
    await talk.decide("1.1.0", Answer.FULL)

    assert await talk.completed() == TEXT
    assert talk.effects() == ["one started", "one ended"]
