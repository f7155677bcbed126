"""Whatever a provider leaves out or adds, the turns it answered replay in a fresh process."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from activities.configuration.locations import Roots, host_id, store_url
from activities.store import conversations, messages
from activities.store.database import Database
from tests.replay.replaying import replay
from worker.composition import compose
from worker.registry import build_workers
from workflows.contracts.conversation import ConversationStart, Submission
from workflows.contracts.key import TurnKey
from workflows.contracts.permission import PermissionMode
from workflows.contracts.turn import TurnOutcome, TurnReport
from workflows.conversation import ConversationWorkflow
from workflows.policy import identity, search

BARE = [
    {"choices": [{"delta": {"content": "hello"}}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
]
LAVISH = [
    {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [
            {
                "index": 0,
                "delta": {"role": "assistant", "content": "hello", "mood": {"level": 11}},
                "finish_reason": None,
                "from-the-future": [1, 2, {"deep": True}],
            }
        ],
        "usage": None,
        "new_top_level": "field",
    },
    {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "x", "choices": [], "usage": {"prompt_tokens": 1, "reasoning_units": {"a": 2}}},
]


async def _serve(chunks: list[dict[str, object]]) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"connection: close\r\n\r\n")
        for chunk in chunks:
            writer.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


@pytest.mark.parametrize("chunks", [BARE, LAVISH], ids=["left out", "added"])
async def test_odd_provider_fields_do_not_reach_a_history(
    chunks: list[dict[str, object]], dev_server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """The turn completes, and its history replays where nothing of this run is left."""
    server = await _serve(chunks)
    port = server.sockets[0].getsockname()[1]
    environ = {"HOME": str(tmp_path), "AUTOLITH_OPENAI_ENDPOINT": f"http://127.0.0.1:{port}/v1"}
    roots = Roots.of(environ)
    roots.create()
    conversation, message = conversations.new_id(), uuid4().hex
    _keep(roots, conversation, message, tmp_path)
    queue = f"replay-{conversation}"
    key = TurnKey(conversation=conversation, turn=1)

    async with AsyncExitStack() as stack:
        ports = await stack.enter_async_context(compose(roots, environ))
        host = host_id(roots.state)
        for worker in build_workers(dev_server.client, ports, host=host, shared=queue):
            await stack.enter_async_context(worker)
        handle = await dev_server.client.start_workflow(
            ConversationWorkflow.run,
            ConversationStart(
                conversation=conversation, host=host, model="odd", mode=PermissionMode.FULL
            ),
            id=identity.conversation(conversation),
            task_queue=queue,
            search_attributes=search.attributes("conversation", conversation),
        )
        submission = Submission(command="submit", conversation=conversation, message=message)
        await handle.execute_update(ConversationWorkflow.submit, submission)
        turn = dev_server.client.get_workflow_handle(identity.turn(key), result_type=TurnReport)
        async with asyncio.timeout(60):
            report = await _report(turn)
        history = await turn.fetch_history()
    server.close()

    assert report.outcome is TurnOutcome.COMPLETED
    path = tmp_path / "odd.json"
    path.write_text(history.to_json())
    path.with_suffix(".id").write_text(identity.turn(key))
    await replay(path)
    command = [sys.executable, "-m", "tests.replay.replaying", str(path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def _report(turn: "WorkflowHandle[Any, TurnReport]") -> TurnReport:
    """Wait for a turn that may not have been started yet."""
    while True:
        try:
            return await turn.result()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            await asyncio.sleep(0.05)


def _keep(roots: Roots, conversation: str, message: str, workspace: Path) -> None:
    database = Database.open(store_url(roots.data, {}))
    record = conversations.ConversationRecord(
        id=conversation, created=1, active=1, workspace=str(workspace), host="h"
    )
    database.write_now(lambda tx: conversations.create(tx, record))
    database.write_now(lambda tx: messages.keep(tx, conversation, message, "hi", delivery="queue"))
    database.close()
