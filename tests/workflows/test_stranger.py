"""Somebody without the key reaches the port: forged and copied payloads move no conversation."""

import asyncio
import json

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.sealing.stranger import Stranger
from tests.workflows.harness import DEADLINE_SECONDS, Conversation
from tests.workflows.ports import ScriptedProvider, answers, call
from workflows.contracts.permission import Answer, Verdict
from workflows.contracts.turn import TurnOutcome
from workflows.policy import identity, queues

UPDATES = ("submit", "cancel", "decide", "configure")
SIGNALS = ("ask", "job_started", "job_finished")
TURN_SIGNALS = ("steer", "notify", "answer")


def _forged(conversation: str) -> list[Payload]:
    """Return what an owner would say, in clear."""
    said = [
        {"command": "submit", "conversation": conversation, "message": "intruder"},
        {"command": "cancel", "conversation": conversation, "id": "x"},
        {"command": "decide", "conversation": conversation, "request": "2.1.0", "answer": "full"},
        {"command": "configure", "conversation": conversation, "id": "x", "mode": "full"},
    ]
    return [
        Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(one).encode())
        for one in said
    ]


def _payloads(message: Message) -> list[Payload]:
    """Return every payload anywhere inside *message*."""
    found = [message] if isinstance(message, Payload) else []
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if hasattr(value, "values"):
            inner = [one for one in value.values() if isinstance(one, Message)]
        else:
            inner = [value] if isinstance(value, Message) else list(value)
        for one in inner:
            found += _payloads(one)
    return found


async def _try_everything(stranger: Stranger, conversation: str, payloads: list[Payload]) -> None:
    """Send each payload to every handler, and to the start of every workflow."""
    workflow, turn = identity.conversation(conversation), f"turn:{conversation}:2"
    for number, payload in enumerate(payloads):
        for name in UPDATES:
            await stranger.update(workflow, name, [payload])
        for name in SIGNALS:
            await stranger.signal(workflow, name, [payload])
        for name in TURN_SIGNALS:
            await stranger.signal(turn, name, [payload])
        for kind in ("TurnWorkflow", "JobWorkflow", "ConversationWorkflow"):
            await stranger.start(f"intruder:{conversation}:{number}:{kind}", kind, [payload])


async def _until_none_runs(client: Client, conversation: str) -> None:
    """Wait until everything that the stranger started has been refused for good."""
    query = f"WorkflowId STARTS_WITH 'intruder:{conversation}' AND ExecutionStatus = 'Running'"
    async with asyncio.timeout(DEADLINE_SECONDS):
        while (await client.count_workflows(query)).count:
            await asyncio.sleep(0.1)


async def test_a_stranger_moves_nothing(dev_server: WorkflowEnvironment) -> None:
    """One turn is over, the next waits for permission; afterwards both are as they were."""
    provider = ScriptedProvider(answers(), answers(call(0, Verdict.ASK)))
    conversation = Conversation(dev_server, provider)

    async with conversation.worker():
        await conversation.start()
        await conversation.submit("m-1")
        await conversation.until_idle(1)
        await conversation.submit("m-2")
        before = await conversation.until(lambda status: bool(status.pending))
        target = dev_server.client.service_client.config.target_host
        stranger = Stranger(await Client.connect(target), f"{queues.SHARED}-{conversation.id}")
        copied = [
            payload
            for workflow in (conversation.handle.id, f"turn:{conversation.id}:2")
            for event in await stranger.history(workflow)
            for payload in _payloads(event)
        ]
        await _try_everything(stranger, conversation.id, [*_forged(conversation.id), *copied])
        after = await conversation.status()
        await _until_none_runs(dev_server.client, conversation.id)
        await conversation.decide(before.pending[0].id, Answer.DENY)
        ended = await conversation.until_idle(2)

    assert len(copied) > 10
    assert after == before
    assert [order.opening for order in provider.orders] == ["m-1", "m-2", None]
    assert [order.answer for order in conversation.tools.orders] == [Answer.DENY]
    assert ended.last_outcome is TurnOutcome.COMPLETED
    assert all(b"m-1" not in payload.data for payload in copied)
