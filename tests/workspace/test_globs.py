"""Glob patterns against paths, and names against URIs."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import InvalidArguments, MalformedUri
from activities.workspace.globs import read_glob
from activities.workspace.names import decoded, encoded, listed, readable


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("*.py", ".hidden.py", True),
        ("a*c", "a/c", False),
        ("?", "ä", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "x/src/a.py", False),
        ("src/*.py", "src/x/a.py", False),
        ("/a", "a", True),
        ("/a", "x/a", False),
        ("src/**", "src/x/y", True),
        ("**/src/*", "src/a", True),
        ("**/src/*", "x/y/src/a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/y/c", False),
        ("a**b", "aXb", True),
        ("src/", "src/x/y", True),
        ("src/", "lib/src/x", True),
        ("./a/b", "a/b", True),
        ("[abc]x", "bx", True),
        ("[!abc]x", "bx", False),
        ("[^abc]x", "dx", True),
        ("[", "[", True),
        ("{a,b}.c", "b.c", True),
        ("{a,b}.c", "c.c", False),
        ("{src,lib}/{x,y}", "lib/y", True),
        ("{a,{b,c}}", "c", True),
        ("{a", "{a", True),
        ("a.b", "axb", False),
        ("nl?x", "nl\nx", True),
        ("*", os.fsdecode(b"\xff"), True),
        ("A", "a", False),
    ],
)
def test_a_pattern_fits_or_not(pattern: str, path: str, fits: bool) -> None:
    """As in .gitignore."""
    assert read_glob(pattern).matches(path) is fits


@pytest.mark.parametrize("pattern", ["", "/", "//", "{a,b}" * 7])
def test_a_pattern_for_nothing_or_too_much_is_refused(pattern: str) -> None:
    """Before any file is looked at."""
    with pytest.raises(InvalidArguments):
        read_glob(pattern)


@given(st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name))
def test_every_name_has_a_uri_that_leads_back(name: bytes) -> None:
    """Whatever bytes it is made of, and what is shown is always valid, single-line text."""
    path = os.fsdecode(name)
    identifier = encoded(path)

    assert decoded(identifier) == path
    assert identifier.isprintable()
    assert " " not in identifier
    for text in (readable(path), listed(path)):
        text.encode()
        assert text.isprintable()


def test_a_uri_cannot_hold_nul() -> None:
    """No path can."""
    with pytest.raises(MalformedUri, match="NUL"):
        decoded("a%00")
