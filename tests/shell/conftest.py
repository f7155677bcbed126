"""A site of its own for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A state root, a workspace and a store; what is left running is killed."""
    site = Site(tmp_path)
    try:
        yield site
    finally:
        site.close()
