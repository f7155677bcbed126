"""Tool names survive a wire of 64 plain characters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.provider.tool_names import canonical_name, wire_name

WIRE = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)


@pytest.mark.parametrize(
    ("tool", "wire"),
    [
        ("shell.run", "ac2hlbGwAcnVu"),
        ("resource.read", "acmVzb3VyY2UAcmVhZA"),
        ("mcp.server.find", "abWNwLnNlcnZlcgBmaW5k"),
        ("plain", "aAHBsYWlu"),
    ],
)
def test_names_are_pinned(tool: str, wire: str) -> None:
    """Stored histories and caches depend on them."""
    assert wire_name(tool) == wire
    assert canonical_name(wire) == tool


@given(st.text(min_size=1))
def test_every_name_fits_and_comes_back(tool: str) -> None:
    """Long ones too, by the tools of the request."""
    wire = wire_name(tool)
    assert WIRE.fullmatch(wire)
    assert canonical_name(wire, ["other.tool", tool]) == tool


def test_long_names_do_not_collide() -> None:
    """The whole name is digested."""
    stem = "server." + "x" * 100
    assert len({wire_name(f"{stem}{number}") for number in range(100)}) == 100


@pytest.mark.parametrize(
    "word", ["get_weather", "shell.run", "a", "abcd", "aÄ", "", "a====", "h123"]
)
def test_a_models_own_word_is_left_alone(word: str) -> None:
    """It names no tool of ours, and the model reads it in the error."""
    assert canonical_name(word) == word
