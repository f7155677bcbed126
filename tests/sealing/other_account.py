"""Becomes another account: ``python -m tests.sealing.other_account ADDRESS QUEUE VAULT FILE...``.

It gives up root for good once its modules are loaded (an interpreter below /root is
out of reach for others), tries everything once, with plain payloads and with what it
can copy, and prints what came of it as one JSON object.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from temporalio.api.common.v1 import Payload
from temporalio.client import Client

from tests.sealing.contracts import CANARY
from tests.sealing.stranger import Stranger, payloads_of

PLAIN = [
    Payload(
        metadata={"encoding": b"json/plain"},
        data=json.dumps({"command": "tell", "text": "intruder"}).encode(),
    )
]


NOBODY = 65534


def become_nobody() -> None:
    """Drop every privilege of root."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def opened(paths: list[str]) -> list[str]:
    """Return those of *paths* that this account can read or list."""
    found = []
    for path in map(Path, paths):
        try:
            _ = list(path.iterdir()) if path.is_dir() else path.read_bytes()
        except PermissionError:
            continue
        found.append(str(path))
    return found


async def intrude(address: str, queue: str, vault: str) -> dict[str, object]:
    """Return what another account gets done."""
    stranger = Stranger(await Client.connect(address), queue)
    fetched = await stranger.everything(vault)
    history = await stranger.history(vault)
    copied = payloads_of(history, "workflow_execution_started_event_attributes", "input")
    updates = []
    for payloads in (PLAIN, copied, []):
        await stranger.signal(vault, "tell", payloads)
        outcome = await stranger.update(vault, "ask", payloads)
        updates.append(outcome.HasField("success"))
    await stranger.start(f"{vault}:intruder-plain", "Vault", PLAIN)
    await stranger.start(f"{vault}:intruder-copied", "Vault", copied)
    return {
        "uid": os.getuid(),
        "messages": len(fetched),
        "readable": sum(CANARY.encode() in found.SerializeToString() for found in fetched),
        "updates": updates,
    }


if __name__ == "__main__":
    become_nobody()
    answer = {"opened": opened(sys.argv[4:])} | asyncio.run(intrude(*sys.argv[1:4]))
    print(json.dumps(answer), flush=True)  # noqa: T201 -- its answer
    # The SDK may abort in the interpreter's finalisation (temporal facts 6).
    os._exit(0)
