"""``search.content`` with a real ripgrep over real files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from activities.errors import AccessDenied, InvalidArguments
from activities.tools.search_content import SearchContent
from activities.tools.tool import ToolResult
from tests.tools.caller import Caller
from workflows.contracts.tool import Concurrency, EffectClass

TOOL = SearchContent()


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    """One conversation in a workspace with some files."""
    caller = Caller(tmp_path)
    write(caller, "src/a.py", "import os\n\ndef alpha():\n    return os.sep\n")
    write(caller, "src/b.py", "def beta():\n    return ALPHA\n")
    write(caller, "src/c.txt", "alpha\n")
    write(caller, "tests/test_a.py", "def test_alpha():\n    pass\n")
    write(caller, "docs/tests/x.py", "alpha\n")
    yield caller
    caller.database.close()


def write(caller: Caller, path: str, text: str) -> Path:
    """Write a file of the workspace."""
    file = caller.workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


async def search(caller: Caller, **given: Any) -> ToolResult:
    """Run the search."""
    return await caller.call(TOOL, **given)


async def test_matches_are_listed_by_file_with_their_lines(caller: Caller) -> None:
    """A lower case query ignores case; files come in the order of their paths."""
    result = await search(caller, query="alpha")

    assert result.text == (
        "docs/tests/x.py\n1:alpha\n\n"
        "src/a.py\n3:def alpha():\n\n"
        "src/b.py\n2:    return ALPHA\n\n"
        "src/c.txt\n1:alpha\n\n"
        "tests/test_a.py\n1:def test_alpha():\n\n"
        "[5 matches in 5 files]"
    )
    assert result.details["next"] is None
    assert TOOL.effect is EffectClass.OBSERVE
    assert TOOL.concurrency is Concurrency.CONCURRENT


async def test_a_capital_letter_makes_the_case_count(caller: Caller) -> None:
    """Smart case, as the description says."""
    result = await search(caller, query="ALPHA")

    assert result.details["paths"] == ["src/b.py"]


@pytest.mark.parametrize(
    ("constraints", "paths"),
    [
        ("*.py", ["docs/tests/x.py", "src/a.py", "src/b.py", "tests/test_a.py"]),
        ("*.py src/", ["src/a.py", "src/b.py"]),
        ("*.py !tests/", ["src/a.py", "src/b.py"]),
        ("src/ docs/", ["docs/tests/x.py", "src/a.py", "src/b.py", "src/c.txt"]),
        ("docs/tests/ src/ docs/", ["docs/tests/x.py", "src/a.py", "src/b.py", "src/c.txt"]),
        ("./ src/ *.txt", ["src/c.txt"]),
        ("src/*.txt", ["src/c.txt"]),
        ("*.{txt,md} x.py", ["docs/tests/x.py", "src/c.txt"]),
        ("**/x.py", ["docs/tests/x.py"]),
        ("!*.py", ["src/c.txt"]),
        ("src/ !b.py !*.txt", ["src/a.py"]),
        ("./src/ *.txt", ["src/c.txt"]),
        ("*.rs", []),
    ],
)
async def test_constraints_choose_files(
    caller: Caller, constraints: str, paths: list[str]
) -> None:
    """Directories and globs widen among themselves and narrow each other."""
    result = await search(caller, query="alpha", constraints=constraints)

    assert result.details["paths"] == paths


async def test_context_is_marked_and_gaps_are_shown(caller: Caller) -> None:
    """Two matches far apart are two groups."""
    write(caller, "f", "".join(f"{n}\n" for n in range(1, 21)))

    result = await search(caller, patterns=["5", "18"], context=1, constraints="f")

    assert result.text.startswith(
        "f\n4-4\n5:5\n6-6\n--\n14-14\n15:15\n16-16\n17-17\n18:18\n19-19\n\n[3 matches"
    )


async def test_a_regular_expression_is_one(caller: Caller) -> None:
    """And in plain mode it is text."""
    assert (await search(caller, query=r"def \w+eta\(", mode="regex")).details["matches"] == 1
    assert (await search(caller, query=r"def \w+eta\(")).details["matches"] == 0
    with pytest.raises(InvalidArguments, match="unclosed group"):
        await search(caller, query="(", mode="regex")
    with pytest.raises(InvalidArguments, match="not allowed"):
        await search(caller, query=r"a\nb", mode="regex")


async def test_a_query_may_look_like_an_option(caller: Caller) -> None:
    """It is passed as an expression."""
    write(caller, "f", "--files\n-e\n")

    assert (await search(caller, query="--files")).details["paths"] == ["f"]
    assert (await search(caller, patterns=["-e", "--"])).details["matches"] == 2


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("recieve_message", "def receive_message(self):"),
        ("recv_msg", "def receive_message(self):"),
        ("conection pool", "the connection pool"),
        ("Receive_Mesage", "def receive_message(self):"),
    ],
)
async def test_a_fuzzy_query_finds_what_was_meant(caller: Caller, query: str, line: str) -> None:
    """Misspelt or abbreviated, the likest file comes first."""
    write(caller, "f", "def receive_message(self):\n    the connection pool\nresolve\n")
    write(caller, "aa", "r e c e i v e\nreverse\n")

    result = await search(caller, query=query, mode="fuzzy")

    assert result.text.startswith("f\n")
    assert line in result.text


async def test_fuzzy_ranks_the_better_file_first(caller: Caller) -> None:
    """Not in the order of paths."""
    write(caller, "a", "receXXve_message\n")
    write(caller, "z", "receive_message\n")

    result = await search(caller, query="receive_message", mode="fuzzy")

    assert result.details["paths"] == ["z", "a"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "exactly one"),
        ({"query": "a", "patterns": ["b"]}, "exactly one"),
        ({"patterns": ["a"], "mode": "regex"}, "goes with query"),
        ({"patterns": []}, "empty"),
        ({"query": " "}, "empty"),
        ({"query": "a\nb"}, "newlines"),
        ({"query": "a\r"}, "newlines"),
        ({"patterns": ["ok", "a\nb"]}, "newlines"),
        ({"query": "a\0"}, "NUL"),
        ({"query": "a", "mode": "fuzzy", "context": 1}, "context"),
        ({"query": "a", "constraints": "nowhere/"}, "no directory nowhere/"),
        ({"query": "a", "constraints": "!"}, "not a glob"),
    ],
)
async def test_questions_without_an_answer_are_refused(
    caller: Caller, given: dict[str, Any], reason: str
) -> None:
    """The model reads what to change."""
    with pytest.raises(InvalidArguments, match=reason):
        await search(caller, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"max_results": 0},
        {"max_results": 101},
        {"max_matches_per_file": 0},
        {"context": 11},
        {"time_budget_ms": 0},
        {"time_budget_ms": 10_001},
        {"file_offset": -1},
        {"mode": "exact"},
        {"unknown": 1},
    ],
)
async def test_numbers_have_their_bounds(caller: Caller, given: dict[str, Any]) -> None:
    """The schema refuses the rest."""
    with pytest.raises(ValidationError):
        await search(caller, query="a", **given)


async def test_pages_cover_every_match_once(caller: Caller) -> None:
    """Following file-offset visits all files in order."""
    for n in range(25):
        write(caller, f"many/{n:02}", "needle\n" * 3)
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        result = await search(caller, query="needle", max_results=9, file_offset=offset)
        assert result.details["matches"] <= 9
        seen += result.details["paths"]
        offset = result.details["next"]

    assert seen == [f"many/{n:02}" for n in range(25)]


async def test_a_file_that_fits_in_part_comes_again(caller: Caller) -> None:
    """Nothing is lost at the end of a page."""
    write(caller, "a", "needle\n")
    write(caller, "b", "needle\n" * 5)

    first = await search(caller, query="needle", max_results=4)
    second = await search(caller, query="needle", max_results=5, file_offset=first.details["next"])

    assert "[2 or more lines of this file on the next page]" in first.text
    assert first.details["matches"] == 4
    assert second.details == {"paths": ["b"], "matches": 5, "next": None, "complete": True}


async def test_a_file_has_at_most_its_share(caller: Caller) -> None:
    """The answer says that there is more in it."""
    write(caller, "a", "needle\n" * 50)
    write(caller, "b", "needle\n")

    result = await search(caller, query="needle", max_matches_per_file=3)

    assert result.text == (
        "a\n1:needle\n2:needle\n3:needle\n[1 or more further lines of this file match]\n\n"
        "b\n1:needle\n\n[4 matches in 2 files]"
    )


async def test_a_page_is_bounded_in_characters(caller: Caller) -> None:
    """Long lines are shown around their match, and files come on later pages."""
    for n in range(60):
        write(caller, f"long/{n:02}", ("x" * 5_000 + "needle" + "y" * 5_000 + "\n") * 2)

    result = await search(caller, query="needle", max_results=100)

    assert 5_000 < len(result.text) <= 7_600
    offset = result.details["next"]
    later = await search(caller, query="needle", max_results=100, file_offset=offset)
    assert later.details["paths"][0] == f"long/{offset:02}"
    row = result.text.splitlines()[1]
    assert row.startswith("1:...xxx")
    assert row.endswith("yyy...")
    assert "needle" in row


async def test_a_line_of_many_megabytes_is_only_named(caller: Caller) -> None:
    """Memory stays bounded, and other lines of the file are shown."""
    write(caller, "f", "needle first\n" + "x" * 5_000_000 + "needle\nneedle last\n")

    result = await search(caller, query="needle")

    assert result.text == (
        "f\n1:needle first\n?:[a very long line]\n3:needle last\n\n[3 matches in 1 files]"
    )


async def test_names_and_lines_of_any_bytes_survive(caller: Caller) -> None:
    """A-20, A-29: shown as valid Unicode, with a URI that leads back."""
    names = [b"\xc3\xa4.txt", b"a -> b", b"x b/y", b"t\tb", b"nl\nx", b'"q"', b"-rf", b"bad\xff"]
    for name in names:
        file = caller.workspace / "odd" / os.fsdecode(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"ok \xff\xf0\x9f needle \xe4\n")

    result = await search(caller, query="needle", constraints="odd/")

    result.text.encode()
    assert result.details["matches"] == len(names)
    assert result.text.count("1:ok \N{REPLACEMENT CHARACTER}") == len(names)
    for line in (
        "odd/ä.txt",
        "odd/a -> b (workspace:odd/a%20->%20b)",
        "odd/nl\N{SYMBOL FOR LINE FEED}x (workspace:odd/nl%0Ax)",
        "odd/bad\N{REPLACEMENT CHARACTER} (workspace:odd/bad%FF)",
        "odd/-rf",
    ):
        assert line in result.text.splitlines()
    assert "needle" in (await caller.read("odd/bad%FF")).text
    assert "needle" in (await caller.read("odd/nl%0Ax")).text


@pytest.mark.parametrize("is_repository", [True, False])
async def test_ignored_files_are_left_out(caller: Caller, is_repository: bool) -> None:
    """With or without a repository, and also when a glob names them."""
    if is_repository:
        (caller.workspace / ".git").mkdir()
        write(caller, ".git/needle", "needle\n")
    write(caller, ".gitignore", "build/\n*.log\n")
    for path in ("build/x.py", "a.log", "kept.py", ".github/ci.py", "sub/b.log"):
        write(caller, path, "needle\n")

    found = await search(caller, query="needle")
    named = await search(caller, query="needle", constraints="*.log *.py")

    assert found.details["paths"] == [".github/ci.py", "kept.py"]
    assert named.details["paths"] == [".github/ci.py", "kept.py"]


async def test_ignore_rules_above_a_plain_directory_do_not_apply(caller: Caller) -> None:
    """A workspace that is no repository has nothing to do with a file above it."""
    (caller.root / ".gitignore").write_text("*\n")

    assert (await search(caller, query="beta")).details["matches"] == 1


async def test_the_users_configuration_of_ripgrep_does_not_matter(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by file nor by environment."""
    configuration = caller.root / "ripgreprc"
    configuration.write_text("--glob=!*.py\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(configuration))

    assert (await search(caller, query="beta")).details["paths"] == ["src/b.py"]


async def test_links_are_not_followed(caller: Caller) -> None:
    """Neither out of the workspace nor around in it."""
    outside = caller.root / "outside"
    outside.mkdir()
    (outside / "secret").write_text("needle\n")
    (caller.workspace / "link").symlink_to(outside)
    (caller.workspace / "file").symlink_to(outside / "secret")
    (caller.workspace / "loop").symlink_to(caller.workspace)

    assert (await search(caller, query="needle")).details["matches"] == 0
    for constraints in ("link/", "../outside/", "src/../../outside/"):
        with pytest.raises(AccessDenied, match="leads out"):
            await search(caller, query="needle", constraints=constraints)


async def test_a_workspace_may_itself_be_a_link(tmp_path: Path) -> None:
    """Its files are searched."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/f").write_text("needle\n")
    (tmp_path / "link").symlink_to("real")
    caller = Caller(tmp_path, workspace=tmp_path / "link")

    result = await search(caller, query="needle")
    caller.database.close()

    assert result.details["paths"] == ["f"]


async def test_binary_files_are_left_out(caller: Caller) -> None:
    """Their lines mean nothing."""
    (caller.workspace / "bin").write_bytes(b"\0\1needle\n")

    assert (await search(caller, query="needle")).details["matches"] == 0


async def test_a_file_that_cannot_be_read_does_not_spoil_the_rest(caller: Caller) -> None:
    """Ripgrep reports it by its status; the other files are searched."""
    (caller.workspace / "src/gone.py").symlink_to("nowhere")
    os.mkfifo(caller.workspace / "pipe")

    assert (await search(caller, query="beta")).details["paths"] == ["src/b.py"]


async def test_the_time_budget_ends_a_search(caller: Caller) -> None:
    """The process is killed, and the answer says that it is incomplete."""
    result = await search(caller, query="alpha", time_budget_ms=1)

    assert not result.details["complete"]
    assert "time budget of 1 ms was used up" in result.text
    assert not children()


async def test_an_early_end_leaves_no_process(caller: Caller) -> None:
    """A full page needs no more of a long output."""
    write(caller, "f", "needle\n" * 200_000)
    write(caller, "g", "needle\n" * 200_000)

    result = await search(caller, query="needle", max_results=1, max_matches_per_file=100)

    assert result.details["matches"] == 1
    assert not children()


def children() -> list[str]:
    """Return the running ripgrep processes of this one."""
    own = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [pid for pid in own if "rg" in Path(f"/proc/{pid}/comm").read_text()]
