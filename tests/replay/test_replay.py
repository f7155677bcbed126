"""Every recorded history replays: a failure here means open conversations would break.

Recorded with ``pytest tests/workflows --record-histories``; change workflow code only
behind ``workflow.patched``, or record again on purpose and say so in the commit.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.workflow import NondeterminismError

from tests.replay.replaying import HISTORIES, replay
from workflows.contracts.turn import TurnReport, TurnStart
from workflows.conversation import ConversationWorkflow
from workflows.job import JobWorkflow
from workflows.turn import TurnWorkflow

RECORDED = sorted(HISTORIES.glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    """The code still does, command for command, what it did when this was recorded."""
    await replay(path)


def test_every_workflow_has_recordings() -> None:
    """A new workflow type needs one too."""
    kinds = {path.stem.rpartition(".")[2].rpartition("-")[0] for path in RECORDED}

    assert kinds == {"conversation", "turn", "job"}


def test_histories_replay_in_a_fresh_process() -> None:
    """Nothing that this process has loaded or kept is needed."""
    command = [sys.executable, "-m", "tests.replay.replaying", *map(str, RECORDED[:8])]

    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@workflow.defn(name="TurnWorkflow", sandboxed=False)
class SleepyTurnWorkflow(TurnWorkflow):
    """A turn that somebody has changed without thinking of open ones."""

    @workflow.init
    def __init__(self, start: TurnStart) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: TurnStart) -> TurnReport:
        """Do something first that the recorded turns did not."""
        await workflow.sleep(1)
        return await super().run(start)


async def test_a_careless_change_is_noticed() -> None:
    """The recordings bite: one sleep before a turn, and none of them replays."""
    turns = [path for path in RECORDED if ".turn-" in path.name]
    changed = (ConversationWorkflow, SleepyTurnWorkflow, JobWorkflow)

    assert turns
    for path in turns[:5]:
        with pytest.raises(NondeterminismError):
            await replay(path, changed)
