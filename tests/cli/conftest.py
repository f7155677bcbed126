"""Accounts that are empty before a test and have no process left after it."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.command import Account


@pytest.fixture
def account(tmp_path: Path) -> Account:
    """An account that nothing runs for."""
    return Account(tmp_path / "home")


def processes_of(account: Account) -> Iterator[psutil.Process]:
    """Yield every living process of *account*."""
    for process in psutil.process_iter():
        try:
            home = process.environ().get("HOME")
            if home == str(account.directory) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
