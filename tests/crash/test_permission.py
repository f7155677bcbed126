"""Something dies while a permission is open: the question is still there afterwards."""

from dataclasses import replace

import pytest

from tests.crash.conftest import Begin
from tests.product.harness import Product
from tests.product.replies import HEAD_START, TEXT, gated, reply, shell
from tests.product.talk import Talk
from workflows.contracts.event import EventKind
from workflows.contracts.permission import Answer, PermissionMode
from workflows.contracts.tool import CallStatus

pytestmark = pytest.mark.timeout(300)

COMMAND = reply("", shell(gated("one")))
ANSWER = reply(TEXT, results=1)
QUESTION = "1.1.0"
RAN = ["one started", "one ended"]


@pytest.mark.parametrize("service", ["worker", "server"])
async def test_an_answer_to_the_next_one_runs_the_command(
    product: Product, begin: Begin, service: str
) -> None:
    """The open question is no process's memory."""
    talk = await asked(await begin(COMMAND, ANSWER))

    await product.replace(service)
    await talk.decide(QUESTION, Answer.FULL)

    await must_have_run_once(talk)


@pytest.mark.parametrize("service", ["worker", "server"])
async def test_a_denial_to_the_next_one_runs_nothing(
    product: Product, begin: Begin, service: str
) -> None:
    """The model hears of it, and the turn goes on."""
    talk = await asked(await begin(COMMAND, ANSWER))

    product.kill(service)
    await talk.decide(QUESTION, Answer.DENY)

    assert await talk.completed() == TEXT
    assert talk.effects() == []
    assert talk.told() == ["shell.run was not run: the owner denied permission."]
    assert [result.status for result in await talk.results()] == [CallStatus.DENIED]


async def test_before_the_question_was_asked(product: Product, begin: Begin) -> None:
    """The next worker asks it, once."""
    talk = await begin(replace(COMMAND, first_delay=HEAD_START), ANSWER)
    talk.allow("one")
    await talk.say(mode=PermissionMode.ASK)
    await talk.until_asked()
    with product.halted("server"):
        await talk.event(EventKind.PERMISSION_ASKED)
        product.kill("worker")
    await talk.until_status(lambda status: [q.id for q in status.pending] == [QUESTION])
    await talk.decide(QUESTION, Answer.FULL)

    await must_have_run_once(talk)
    assert len(talk.all(EventKind.PERMISSION_ASKED)) == 1


async def test_just_after_the_answer(product: Product, begin: Begin) -> None:
    """An answer that was acknowledged is not asked for again."""
    talk = await asked(await begin(COMMAND, ANSWER))

    await talk.decide(QUESTION, Answer.FULL)
    product.kill("worker")

    await must_have_run_once(talk)
    assert len(talk.all(EventKind.PERMISSION_ASKED)) == 1


async def asked(talk: Talk) -> Talk:
    """Let the turn come to its question, of which the engine knows."""
    talk.allow("one")
    await talk.say(mode=PermissionMode.ASK)
    await talk.event(EventKind.PERMISSION_ASKED, request=QUESTION)
    await talk.until_status(lambda status: [q.id for q in status.pending] == [QUESTION])
    assert talk.effects() == []
    return talk


async def must_have_run_once(talk: Talk) -> None:
    """Check that the command ran once, and only after the answer."""
    assert await talk.completed() == TEXT
    assert talk.effects() == RAN
    kinds = [event.kind for event in talk.seen]
    assert kinds.index(EventKind.PERMISSION_ANSWERED) < kinds.index(EventKind.RESULT)
    (told,) = talk.told()
    assert told.startswith("exit 0\nhalf of one\nall of one"), told
