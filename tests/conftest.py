"""Fixtures shared by every suite."""

import os
import sys
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from worker.payloads import data_converter
from worker.sealing.keys import KeyRing
from workflows.policy import search

TEST_KEY = bytes(range(32))
STATUS = pytest.StashKey[int]()
SUGGEST_CONTINUE_AS_NEW_AFTER = 200
TUNED = (
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
    "history.visibilityProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="10ms"',
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    "frontend.WorkerCommandsEnabled=true",
    "system.enableCancelActivityWorkerCommand=true",
    f"limit.historyCount.suggestContinueAsNew={SUGGEST_CONTINUE_AS_NEW_AFTER}",
)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember how the session ended."""
    session.config.stash[STATUS] = exitstatus


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without the interpreter's finalisation, in which the SDK may abort (facts 6)."""
    if "temporalio.bridge" in sys.modules and STATUS in config.stash:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[STATUS])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--record-histories``."""
    parser.addoption(
        "--record-histories",
        action="store_true",
        help="Rewrite tests/replay/histories from this run.",
    )


@pytest.fixture(scope="session")
async def dev_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[WorkflowEnvironment]:
    """A real Temporal server, tuned like the embedded one, with sealed payloads."""
    converter = data_converter(KeyRing.of(TEST_KEY), tmp_path_factory.mktemp("objects"))
    flags = [word for value in TUNED for word in ("--dynamic-config-value", value)]
    async with await WorkflowEnvironment.start_local(
        ip="127.0.0.1",
        data_converter=converter,
        dev_server_existing_path=str(Path(sysconfig.get_path("scripts")) / "temporal"),
        dev_server_extra_args=flags,
        search_attributes=list(search.ALL),
        dev_server_log_level="error",
    ) as environment:
        yield environment
