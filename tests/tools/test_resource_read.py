"""``resource.read`` of workspace files, directories and empty places."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from activities.errors import (
    AccessDenied,
    InvalidArguments,
    MalformedUri,
    MissingResource,
    OperationUnsupported,
    UnknownScheme,
)
from activities.tools.resource import ResourceRead
from activities.tools.search_content import SearchContent
from activities.tools.search_glob import SearchGlob
from tests.tools.caller import KINDS, Caller
from workflows.contracts.tool import Concurrency, EffectClass
from workflows.policy.resources import FILE_BYTES, READ_CHARACTERS


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    """One conversation."""
    caller = Caller(tmp_path)
    yield caller
    caller.database.close()


async def test_a_file_is_shown_with_numbers_and_a_revision(caller: Caller) -> None:
    """The text of a line follows its number and a bar, indentation and all."""
    (caller.workspace / "f.py").write_text("if x:\n\t  y\n\n")

    result = await caller.read("f.py")

    revision = result.details["revision"]
    assert (
        result.text == f"workspace:f.py revision {revision} lines 1-3 of 3\n1|if x:\n2|\t  y\n3|"
    )
    assert len(revision) == 17
    assert revision.startswith("R")
    assert result.details == {
        "path": "f.py",
        "revision": revision,
        "first": 1,
        "last": 3,
        "total": 3,
    }
    assert ResourceRead.effect is EffectClass.OBSERVE
    assert ResourceRead.concurrency is Concurrency.CONCURRENT


async def test_the_same_content_has_the_same_revision(caller: Caller) -> None:
    """Within a conversation; another content, file or conversation has another."""
    for name in ("f", "g"):
        (caller.workspace / name).write_text("a\n")
    other = Caller(caller.root, conversation="d")

    revisions = [await caller.revision("f"), await caller.revision("./f")]
    others = {await caller.revision("g"), await other.revision("f")}
    (caller.workspace / "f").write_text("b\n")
    others.add(await caller.revision("f"))
    other.database.close()

    assert len(set(revisions)) == 1
    assert len(others) == 3
    assert revisions[0] not in others


async def test_a_window_says_how_to_go_on(caller: Caller) -> None:
    """By default 400 lines."""
    (caller.workspace / "f").write_text("".join(f"{n}\n" for n in range(1, 1_001)))

    first = await caller.read("f")
    middle = await caller.read("f", start_line=401, line_count=2)
    last = await caller.read("f", start_line=999)

    assert first.text.splitlines()[400] == "400|400"
    assert first.text.endswith("[600 more lines; read on with start-line 401]")
    assert middle.text.splitlines()[1:] == [
        "401|401",
        "402|402",
        "[598 more lines; read on with start-line 403]",
    ]
    assert last.text.endswith("lines 999-1000 of 1000\n999|999\n1000|1000")


async def test_a_read_is_bounded_in_characters(caller: Caller) -> None:
    """Reading on from line to line shows everything once."""
    lines = [f"{'x' * (n % 97)}{n}" for n in range(1, 501)]
    (caller.workspace / "f").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    while len(seen) < len(lines):
        result = await caller.read("f", start_line=len(seen) + 1, line_count=1_000)
        assert len(result.text) <= READ_CHARACTERS
        rows = [row for row in result.text.splitlines()[1:] if not row.startswith("[")]
        seen += [row.partition("|")[2] for row in rows]

    assert seen == lines


async def test_a_line_that_does_not_fit_is_cut_and_said_to_be(caller: Caller) -> None:
    """The next line can be reached."""
    (caller.workspace / "f").write_text("a\n" + "x" * 50_000 + "\nb\n")

    first = await caller.read("f")
    cut = await caller.read("f", start_line=2)
    rest = await caller.read("f", start_line=3)

    assert first.text.endswith("1|a\n[2 more lines; read on with start-line 2]")
    assert "[line 2 is shown in part (50000 characters): not editable]" in cut.text
    assert "[1 more lines; read on with start-line 3]" in cut.text
    assert 7_000 < len(cut.text) <= READ_CHARACTERS
    assert rest.text.endswith("3|b")


async def test_a_line_after_the_last_is_refused(caller: Caller) -> None:
    """With the number of the last one."""
    (caller.workspace / "f").write_text("a\nb\n")

    with pytest.raises(InvalidArguments, match="ends at line 2"):
        await caller.read("f", start_line=3)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"a\r\nb\r\n", "the lines end in CRLF"),
        (b"a\nb", "no newline at the end"),
        (b"a\r\nb\n", "mixed line endings (1 CRLF, 1 LF)"),
        (b"\x00\x01a", "binary"),
        (b"\xffa\n", "not UTF-8"),
        (b"", "is empty; replace-empty fills it"),
    ],
)
async def test_what_matters_for_an_edit_is_noted(
    caller: Caller, content: bytes, note: str
) -> None:
    """Before the edit is tried."""
    (caller.workspace / "f").write_bytes(content)

    assert note in (await caller.read("f")).text


async def test_damaged_text_is_readable(caller: Caller) -> None:
    """A-20: replaced, never raised, and no NUL that a database would refuse."""
    (caller.workspace / "f").write_bytes(b"ok \xff\xf0\x9f\0 end\n" + bytes(range(256)) * 4)

    result = await caller.read("f")

    result.text.encode()
    assert "1|ok \N{REPLACEMENT CHARACTER}" in result.text
    assert "\0" not in result.text


async def test_a_byte_order_mark_is_not_shown(caller: Caller) -> None:
    """It is no part of the first line."""
    (caller.workspace / "f").write_bytes(b"\xef\xbb\xbfa\n")

    assert "\n1|a" in (await caller.read("f")).text


async def test_a_large_file_is_read_by_window(caller: Caller) -> None:
    """Without a revision, and without loading it whole."""
    with (caller.workspace / "f").open("wb") as file:
        file.write(b"\xef\xbb\xbf")
        for n in range(1, 700_001):
            file.write(b"line %d\r\n" % n)
    size = (caller.workspace / "f").stat().st_size
    assert size > 2 * FILE_BYTES

    first = await caller.read("f")
    late = await caller.read("f", start_line=650_000, line_count=2)

    assert first.text.startswith(
        f"workspace:f {size} bytes, too large to edit, lines 1-400\n1|line 1\n"
    )
    assert late.text.splitlines()[1:] == [
        "650000|line 650000",
        "650001|line 650001",
        "[read on with start-line 650002]",
    ]
    assert "revision" not in first.details
    with pytest.raises(InvalidArguments, match="no line 700001"):
        await caller.read("f", start_line=700_001)


async def test_a_huge_sparse_file_costs_no_memory_and_no_minutes(caller: Caller) -> None:
    """What lies beyond the scanned part is refused, and what is near is shown."""
    with (caller.workspace / "f").open("wb") as file:
        file.write("ä".encode() * 100_000)
        file.truncate(1 << 40)

    first = await caller.read("f")

    assert "1|ääää" in first.text
    assert "[line 1 is shown in part]" in first.text
    assert len(first.text) <= READ_CHARACTERS
    with pytest.raises(OperationUnsupported, match="use shell"):
        await caller.read("f", start_line=2)


async def test_a_place_where_nothing_is_has_a_revision(caller: Caller) -> None:
    """So that a file can be created there, directories included."""
    for path in ("new.py", "some/where/new.py"):
        result = await caller.read(path)

        assert result.text == (
            f"workspace:{path} revision {result.details['revision']}: "
            "nothing is there; replace-empty creates it"
        )
        assert not result.details["exists"]


async def test_a_directory_is_listed_sorted(caller: Caller) -> None:
    """Directories and links are marked, and odd names bring their URI."""
    (caller.workspace / "d/sub").mkdir(parents=True)
    for name in ("b", "a", "Z", "a b", os.fsdecode(b"bad\xff"), "nl\nx"):
        (caller.workspace / "d" / name).touch()
    (caller.workspace / "d/link").symlink_to("sub")

    result = await caller.read("d")

    assert result.text.splitlines() == [
        "workspace:d directory, entries 1-8 of 8",
        "Z",
        "a",
        "a b (workspace:d/a%20b)",
        "b",
        "bad\N{REPLACEMENT CHARACTER} (workspace:d/bad%FF)",
        "link@",
        "nl\N{SYMBOL FOR LINE FEED}x (workspace:d/nl%0Ax)",
        "sub/",
    ]
    assert "revision" not in result.details
    assert "directory, empty" in (await caller.read("d/sub")).text


async def test_the_workspace_itself_is_listed(caller: Caller) -> None:
    """By a dot, or by its absolute path."""
    (caller.workspace / "f").touch()

    for path in (".", str(caller.workspace), "sub/..", "./"):
        assert (await caller.read(path)).text.splitlines()[1:] == ["f"]


async def test_a_large_directory_is_listed_in_parts(caller: Caller) -> None:
    """At most 1,000 entries and the characters of one read; each entry once."""
    names = [f"{n:05}" for n in range(2_500)]
    for name in names:
        (caller.workspace / name).touch()
    seen: list[str] = []
    while len(seen) < len(names):
        result = await caller.read(".", start_line=len(seen) + 1)
        rows = result.text.splitlines()[1:]
        assert len(result.text) <= READ_CHARACTERS
        seen += [row for row in rows if not row.startswith("[")]

    assert seen == names
    assert len((await caller.read(".", line_count=10)).text.splitlines()) == 12


@pytest.mark.parametrize(
    "uri",
    [
        "f.py",
        "",
        ":f",
        "workspace:",
        "Workspace:f",
        "workspace:a b",
        "workspace:a\tb",
        "workspace:a\nb",
        "workspace:a\x1b[2J",
        "workspace:a\N{RIGHT-TO-LEFT OVERRIDE}b",
        "workspace:a%00b",
        "work space:f",
    ],
)
async def test_a_malformed_uri_is_refused(caller: Caller, uri: str) -> None:
    """Lower case scheme, colon, printable characters without spaces."""
    with pytest.raises(MalformedUri):
        await caller.call(ResourceRead(KINDS), uri=uri)


async def test_an_unknown_scheme_is_refused(caller: Caller) -> None:
    """With those that there are."""
    with pytest.raises(UnknownScheme, match=r"file: \(there is workspace\)"):
        await caller.call(ResourceRead(KINDS), uri="file:/etc/passwd")


@pytest.mark.parametrize("identifier", ["100%", "%zz", "a%2"])
async def test_a_percent_sign_that_escapes_nothing_is_itself(
    caller: Caller, identifier: str
) -> None:
    """Names with one can be read as they are."""
    (caller.workspace / identifier).write_text("content\n")

    assert "1|content" in (await caller.read(identifier)).text


@pytest.mark.parametrize("path", ["../outside", "esc/secret", "esc", "deep/../../outside", "file"])
async def test_what_lies_outside_is_not_read(caller: Caller, path: str) -> None:
    """A-35: by name or by link."""
    (caller.root / "outside").mkdir()
    (caller.root / "outside/secret").write_text("secret\n")
    (caller.workspace / "esc").symlink_to(caller.root / "outside")
    (caller.workspace / "file").symlink_to(caller.root / "outside/secret")

    with pytest.raises(AccessDenied, match="leads out of the workspace"):
        await caller.read(path)
    with pytest.raises(AccessDenied):
        await caller.read("/etc/passwd")


async def test_special_files_are_not_opened(caller: Caller) -> None:
    """A pipe would wait for ever, and a device may do something."""
    os.mkfifo(caller.workspace / "pipe")

    with pytest.raises(AccessDenied, match="not a regular file"):
        await caller.read("pipe")


async def test_a_file_is_no_directory(caller: Caller) -> None:
    """A path through it leads nowhere."""
    (caller.workspace / "f").touch()

    with pytest.raises(OperationUnsupported, match="f is not a directory"):
        await caller.read("f/g")


async def test_a_name_that_is_too_long_is_refused(caller: Caller) -> None:
    """In one line."""
    with pytest.raises(AccessDenied, match="File name too long"):
        await caller.read("n" * 300)


async def test_a_link_that_leads_in_a_circle_is_refused(caller: Caller) -> None:
    """Nothing is there, and nothing can be made there."""
    (caller.workspace / "a").symlink_to("b")
    (caller.workspace / "b").symlink_to("a")

    with pytest.raises(AccessDenied):
        await caller.read("a")


async def test_a_workspace_that_is_gone_is_named(caller: Caller) -> None:
    """One line, not a traceback."""
    caller.workspace.rmdir()

    with pytest.raises(MissingResource, match=r"workspace .* cannot be opened"):
        await caller.read("f")


@pytest.mark.parametrize("given", [{"byte_offset": 0}, {"query": "x"}, {"max_results": 1}])
async def test_what_belongs_to_another_kind_is_refused(
    caller: Caller, given: dict[str, int | str]
) -> None:
    """Rather than ignored."""
    (caller.workspace / "f").touch()

    with pytest.raises(InvalidArguments, match="does not apply"):
        await caller.read("f", **given)


@pytest.mark.parametrize("given", [{"start_line": 0}, {"line_count": 1_001}, {"line_count": 0}])
async def test_windows_have_their_bounds(caller: Caller, given: dict[str, int]) -> None:
    """The schema refuses the rest."""
    with pytest.raises(ValidationError):
        await caller.read("f", **given)


def test_a_label_is_short() -> None:
    """Whatever the path is."""
    tool = ResourceRead(KINDS)

    assert tool.label(tool.arguments(uri="workspace:src/a.py")) == "read src/a.py"
    assert tool.label(tool.arguments(uri="workspace:a", start_line=7)) == "read a:7"
    assert len(tool.label(tool.arguments(uri="workspace:" + "a/" * 400))) < 130


async def test_autoliths_own_state_is_not_touched(caller: Caller) -> None:
    """A workspace may be a home directory, and its keys are nobody's business."""
    caller.state_root = caller.workspace / ".state [1]!"
    caller.state_root.mkdir()
    (caller.state_root / "key").write_text("needle\n")
    (caller.workspace / "link").symlink_to(caller.state_root)
    (caller.workspace / "f").write_text("needle\n")

    for path in (".state%20[1]!/key", ".state%20[1]!/new", "link/key", "link"):
        with pytest.raises(AccessDenied, match="belongs to Autolith"):
            await caller.read(path)
    with pytest.raises(AccessDenied, match="belongs to Autolith"):
        await caller.call(SearchContent(), query="needle", constraints="link/")
    found = await caller.call(SearchContent(), query="needle")
    listed = await caller.call(SearchGlob(), pattern="*")
    assert found.details["paths"] == listed.details["paths"] == ["f"]


async def test_a_workspace_inside_of_the_state_is_ordinary(caller: Caller) -> None:
    """An isolated checkout may live there."""
    caller.state_root = caller.root
    (caller.workspace / "f").write_text("needle\n")

    assert "1|needle" in (await caller.read("f")).text
    assert (await caller.call(SearchContent(), query="needle")).details["matches"] == 1
