"""Homes that are empty before a test and have no process left after it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.embedded.home import Home


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    """A home of its own; whatever still runs there is stopped."""
    own = Home(tmp_path / "home")
    yield own
    await own.down()
    assert own.processes() == []


@pytest.fixture
async def neighbour(tmp_path: Path) -> AsyncIterator[Home]:
    """Another home."""
    other = Home(tmp_path / "neighbour")
    yield other
    await other.down()
    assert other.processes() == []
