"""Keep what the suite runs, when it is asked to."""

import shutil
from pathlib import Path

import pytest

from tests.workflows.harness import Conversation

HISTORIES = Path(__file__).parents[1] / "replay" / "histories"


@pytest.fixture(scope="session", autouse=True)
def recordings(request: pytest.FixtureRequest) -> None:
    """Rewrite the recorded histories with ``--record-histories``."""
    if request.config.getoption("--record-histories"):
        shutil.rmtree(HISTORIES, ignore_errors=True)
        HISTORIES.mkdir()
        Conversation.recordings = HISTORIES
