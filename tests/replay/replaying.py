"""Replay recorded histories, in this process or (``python -m``) in a fresh one."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from worker.payloads import data_converter
from worker.registry import WORKFLOWS
from worker.sandbox import workflow_runner
from worker.sealing.keys import KeyRing

HISTORIES = Path(__file__).with_name("histories")
TEST_KEY = bytes(range(32))


async def replay(path: Path, workflows: Sequence[type] = WORKFLOWS) -> None:
    """Replay one history.

    Raises:
        NondeterminismError: the workflow's code no longer does what it did.
    """
    text = path.read_text()
    replayer = Replayer(
        workflows=workflows,
        data_converter=data_converter(KeyRing.of(TEST_KEY), path.parent / "objects"),
        workflow_runner=workflow_runner(),
    )
    await replayer.replay_workflow(WorkflowHistory.from_json(workflow_of(path), text))


def workflow_of(path: Path) -> str:
    """Return the id of the workflow whose history is in *path*; payloads are bound to it."""
    return path.with_suffix(".id").read_text().strip()


async def _replay_all(paths: Sequence[str]) -> None:
    for path in paths:
        await replay(Path(path))


if __name__ == "__main__":
    asyncio.run(_replay_all(sys.argv[1:]))
    # The SDK may abort in the interpreter's finalisation (temporal facts 6).
    os._exit(0)
