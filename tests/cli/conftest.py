"""Accounts that are empty before a test and have no process left after it."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.command import Account
from tests.cli.running import Running


@pytest.fixture
def account(tmp_path: Path) -> Account:
    """An account that nothing runs for."""
    return Account(tmp_path / "home")


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An account with a runtime that several tests share; each has conversations of its own."""
    own = Running(tmp_path_factory.mktemp("running") / "home")
    own.begin()
    yield own
    own.end()
    assert [process.cmdline() for process in _processes_of(own)] == []


def _processes_of(account: Account) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            home = process.environ().get("HOME")
            if home == str(account.directory) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
