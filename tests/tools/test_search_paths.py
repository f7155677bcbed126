"""``search.files`` and ``search.glob`` with a real ripgrep over real files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from activities.errors import CommandFailed, InvalidArguments, MissingResource
from activities.tools.search_files import SearchFiles
from activities.tools.search_glob import SearchGlob
from activities.workspace.ripgrep import find_ripgrep
from tests.tools.caller import Caller
from workflows.contracts.tool import Concurrency, EffectClass

FILES, GLOB = SearchFiles(), SearchGlob()

TREE = (
    "README.md",
    "src/main.py",
    "src/main_window.py",
    "src/net/connection_pool.py",
    "src/net/domain.py",
    "tests/test_main.py",
    ".github/workflows/ci.yml",
    "a b.txt",
)


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    """One conversation in a workspace with some files."""
    caller = Caller(tmp_path)
    for path in TREE:
        file = caller.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    yield caller
    caller.database.close()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("main", "src/main.py"),
        ("main.py", "src/main.py"),
        ("MAIN window", "src/main_window.py"),
        ("window main", "src/main_window.py"),
        ("connpool", "src/net/connection_pool.py"),
        ("conection_pool", "src/net/connection_pool.py"),
        ("net/dom", "src/net/domain.py"),
        ("readme", "README.md"),
        ("ci.yml", ".github/workflows/ci.yml"),
        ("src/main.py", "src/main.py"),
    ],
)
async def test_the_best_path_comes_first(caller: Caller, query: str, first: str) -> None:
    """Exact names before beginnings before spread letters before misspellings."""
    result = await caller.call(FILES, query=query)

    assert result.details["paths"][0] == first
    assert result.text.splitlines()[0] == first


async def test_what_fits_nowhere_is_not_found(caller: Caller) -> None:
    """Every word has to fit."""
    result = await caller.call(FILES, query="main zebra")

    assert result.text == "[no file for 'main zebra']"
    assert result.details == {"paths": [], "total": 0, "complete": True}


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", sorted(path for path in TREE if path.endswith(".py"))),
        ("src/*.py", ["src/main.py", "src/main_window.py"]),
        ("src/**/*.py", sorted(path for path in TREE if path.startswith("src/"))),
        ("src/", sorted(path for path in TREE if path.startswith("src/"))),
        ("/README.md", ["README.md"]),
        ("*.{md,yml}", [".github/workflows/ci.yml", "README.md"]),
        ("main?window.py", ["src/main_window.py"]),
        ("[!t]*_main.py", []),
        ("test_[a-m]*.py", ["tests/test_main.py"]),
        ("a b.txt", ["a b.txt"]),
        ("**/net/**", ["src/net/connection_pool.py", "src/net/domain.py"]),
    ],
)
async def test_a_glob_lists_its_files_sorted(
    caller: Caller, pattern: str, paths: list[str]
) -> None:
    """A name fits anywhere, a path only there."""
    assert (await caller.call(GLOB, pattern=pattern)).details["paths"] == paths


async def test_pages_follow_each_other(caller: Caller) -> None:
    """Each names the next, until the last."""
    for n in range(45):
        (caller.workspace / f"f{n:02}.c").touch()

    pages = [await caller.call(GLOB, pattern="*.c", page=page) for page in range(4)]

    assert [path for page in pages for path in page.details["paths"]] == [
        f"f{n:02}.c" for n in range(45)
    ]
    assert "[1-20 of 45 files; next page 1]" in pages[0].text
    assert "[41-45 of 45 files]" in pages[2].text
    assert pages[3].details["paths"] == []


async def test_ignored_files_are_not_listed(caller: Caller) -> None:
    """A glob does not bring them back."""
    (caller.workspace / ".gitignore").write_text("*.py\n!main.py\n")

    assert (await caller.call(GLOB, pattern="*.py")).details["paths"] == ["src/main.py"]
    assert (await caller.call(FILES, query="domain")).details["total"] == 0


async def test_names_that_are_not_text_are_listed(caller: Caller) -> None:
    """A-29: with the URI that reads them."""
    (caller.workspace / os.fsdecode(b"bad\xff\n.c")).write_bytes(b"content\n")

    result = await caller.call(GLOB, pattern="*.c")

    assert result.text.splitlines()[0] == (
        "bad\N{REPLACEMENT CHARACTER}\N{SYMBOL FOR LINE FEED}.c (workspace:bad%FF%0A.c)"
    )
    assert "1|content" in (await caller.read("bad%FF%0A.c")).text


async def test_a_page_of_long_names_is_bounded(caller: Caller) -> None:
    """What does not fit is said."""
    for n in range(100):
        (caller.workspace / (f"{n:03}" + "n" * 200 + ".c")).touch()

    result = await caller.call(GLOB, pattern="*.c", max_results=100)

    assert len(result.text) < 8_000
    assert "ask for fewer results" in result.text


async def test_a_hostile_pattern_costs_nothing(caller: Caller) -> None:
    """Stars do not backtrack into each other."""
    (caller.workspace / ("a" * 200)).touch()

    result = await caller.call(GLOB, pattern="*a" * 60 + "b")
    deep = await caller.call(GLOB, pattern="**/" * 200 + "main.py")

    assert result.details["paths"] == []
    assert deep.details["paths"] == ["src/main.py"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"pattern": "/"}, "not a glob"),
        ({"pattern": "a\nb"}, "newlines"),
        ({"pattern": "{a,b}" * 7}, "alternatives"),
    ],
)
async def test_patterns_without_meaning_are_refused(
    caller: Caller, given: dict[str, Any], reason: str
) -> None:
    """The model reads what to change."""
    with pytest.raises(InvalidArguments, match=reason):
        await caller.call(GLOB, **given)


async def test_a_newline_in_a_query_is_refused(caller: Caller) -> None:
    """Names are searched for one line."""
    with pytest.raises(InvalidArguments, match="newlines"):
        await caller.call(FILES, query="a\nb")


async def test_a_workspace_that_is_gone_is_named(caller: Caller) -> None:
    """One line, not a traceback."""
    context = caller.context()
    caller.workspace.rename(caller.root / "moved")

    with pytest.raises(MissingResource, match=r"workspace .* cannot be opened"):
        await FILES.run(FILES.arguments(query="x"), context)


def test_a_missing_ripgrep_is_named(tmp_path: Path) -> None:
    """It is looked for beside Python and then in the path."""
    with pytest.raises(CommandFailed, match="ripgrep"):
        find_ripgrep(tmp_path, path=str(tmp_path))
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert find_ripgrep(tmp_path, path=str(program.parent)) == str(program)


def test_searching_repeats_freely() -> None:
    """Both only observe, beside others."""
    for tool in (FILES, GLOB):
        assert tool.effect is EffectClass.OBSERVE
        assert tool.concurrency is Concurrency.CONCURRENT
