"""``resource.edit`` on workspace files: the bytes it leaves behind."""

import asyncio
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.errors import (
    AccessDenied,
    InvalidArguments,
    OperationUnsupported,
    PublicationFailed,
    StaleRevision,
)
from activities.tools.resource import ResourceEdit
from tests.tools.caller import KINDS, Caller, after, before, delete, fill, replace
from workflows.contracts.tool import Concurrency, EffectClass
from workflows.policy.resources import FILE_BYTES


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    """One conversation."""
    caller = Caller(tmp_path)
    yield caller
    caller.database.close()


@pytest.mark.parametrize(
    ("content", "operations", "expected"),
    [
        # A-32, byte for byte.
        (b"a\r\nb\r\nc\r\n", [replace(2, 2, "B")], b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", [replace(2, 3, "B\nc")], b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", [replace(2, 3, "B\r\nc\r\n")], b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb", [after(2, "c")], b"a\r\nb\r\nc"),
        (b"a\nb\nc\n", [replace(2, 2, "B\r\nB2")], b"a\nB\nB2\nc\n"),
        (b"a\nb", [replace(2, 2, "c\n")], b"a\nc"),
        (b"a\nb", [after(2, "c\n")], b"a\nb\nc"),
        (b"a\nb\n", [after(2, "c")], b"a\nb\nc\n"),
        (b"\xef\xbb\xbfa\nb\n", [replace(1, 1, "A")], b"\xef\xbb\xbfA\nb\n"),
        (
            b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e\nf\n",
            [replace(2, 2, "F")],
            b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e\nF\n",
        ),
        (b"a\rb\nc\n", [replace(2, 2, "C")], b"a\rb\nC\n"),
        (b"a\r\r\nb\r\n", [replace(2, 2, "B")], b"a\r\r\nB\r\n"),
        (b"a\r\nb\r", [replace(1, 1, "A")], b"A\r\nb\r"),
        (b"\ta\n  b  \n", [before(1, "\t\tx ")], b"\t\tx \n\ta\n  b  \n"),
        (b"a\n", [delete(1, 1)], b""),
        (b"a\nb", [replace(2, 2, "")], b"a\n"),
        (b"a\nb\n", [replace(1, 1, "")], b"\nb\n"),
        (b"a\nb\n", [after(1, "\n")], b"a\n\nb\n"),
        (b"1\n2\n3\n4\n", [after(4, "5"), delete(2, 3), before(1, "0")], b"0\n1\n4\n5\n"),
        (b"1\n2\n", [after(1, "x"), before(2, "y"), after(1, "z")], b"1\nx\ny\nz\n2\n"),
        (
            b"1\n2\n3\n",
            [replace(2, 2, "two"), before(2, "b"), after(2, "a")],
            b"1\nb\ntwo\na\n3\n",
        ),
    ],
)
async def test_an_edit_changes_its_lines_and_no_other_byte(
    caller: Caller, content: bytes, operations: list[dict[str, object]], expected: bytes
) -> None:
    """Endings, the final newline, the byte order mark and unusual separators stay."""
    file = caller.workspace / "f"
    file.write_bytes(content)

    await caller.change("f", *operations)

    assert file.read_bytes() == expected


@pytest.mark.parametrize("mode", [0o755, 0o664, 0o600, 0o444, 0o4755, 0o2775])
async def test_permission_bits_are_kept_without_set_id(caller: Caller, mode: int) -> None:
    """A-33: a script stays executable, and a group's file stays the group's."""
    file = caller.workspace / "s.sh"
    file.write_text("a\n")
    file.chmod(mode)

    await caller.change("s.sh", replace(1, 1, "b"))

    assert stat.S_IMODE(file.stat().st_mode) == mode & 0o777


async def test_the_owner_is_kept(caller: Caller) -> None:
    """An edit by root does not take a user's file away."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    if os.geteuid():
        pytest.skip("only root can give files away")
    os.chown(file, 1234, 4321)

    await caller.change("f", replace(1, 1, "b"))

    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


@pytest.mark.parametrize(("umask", "expected"), [(0o002, 0o664), (0o022, 0o644), (0o077, 0o600)])
async def test_a_new_file_follows_the_umask(caller: Caller, umask: int, expected: int) -> None:
    """A-33: and so do the directories that were made for it."""
    before_ = os.umask(umask)
    try:
        await caller.change("new/deep/f", fill("x\n"))
    finally:
        os.umask(before_)

    assert stat.S_IMODE((caller.workspace / "new/deep/f").stat().st_mode) == expected
    assert stat.S_IMODE((caller.workspace / "new/deep").stat().st_mode) == 0o777 & ~umask


@pytest.mark.parametrize(
    "text", ["", "x", "x\n", "x\r\ny\r\n", "\n\n", "\tä\N{GRINNING FACE}\n", "\ufeffx\n"]
)
async def test_a_new_file_is_exactly_the_text(caller: Caller, text: str) -> None:
    """replace-empty takes the text as the content."""
    await caller.change("f", fill(text))

    assert (caller.workspace / "f").read_bytes() == text.encode()


async def test_an_empty_file_is_filled(caller: Caller) -> None:
    """An existing empty file keeps its mode."""
    file = caller.workspace / "f"
    file.touch(mode=0o700)

    await caller.change("f", fill("x\n"))

    assert file.read_bytes() == b"x\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o700


async def test_a_changed_file_is_refused_with_its_present_revision(caller: Caller) -> None:
    """A-34: somebody appended a line, and it is still there afterwards."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    revision = await caller.revision("f")
    with file.open("a") as stream:
        stream.write("user\n")

    with pytest.raises(StaleRevision, match="read it again") as refused:
        await caller.edit("f", revision, replace(1, 1, "b"))

    assert file.read_text() == "a\nuser\n"
    assert await caller.revision("f") in str(refused.value)
    assert "2|user" in str(refused.value)


async def test_the_refusal_is_enough_to_go_on(caller: Caller) -> None:
    """What was shown before and did not change is known in the present revision."""
    file = caller.workspace / "f"
    file.write_text("".join(f"{n}\n" for n in range(1, 51)))
    revision = await caller.revision("f")
    file.write_text("new\n" + file.read_text())

    with pytest.raises(StaleRevision) as refused:
        await caller.edit("f", revision, replace(40, 40, "forty"))
    present = str(refused.value).partition("present revision is ")[2][:17]
    await caller.edit("f", present, replace(41, 41, "forty"))

    assert file.read_text().splitlines()[40] == "forty"


async def test_a_large_foreign_change_has_to_be_read(caller: Caller) -> None:
    """Lines that the refusal did not show cannot be edited on its revision."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    revision = await caller.revision("f")
    file.write_text("a\n" + "x" * 200 + "\n" + "y\n" * 3000)

    with pytest.raises(StaleRevision) as refused:
        await caller.edit("f", revision, replace(1, 1, "b"))
    present = str(refused.value).partition("present revision is ")[2][:17]

    with pytest.raises(InvalidArguments, match="not all shown"):
        await caller.edit("f", present, delete(3000, 3000))


async def test_a_removed_file_is_stale_and_can_be_created_again(caller: Caller) -> None:
    """The refusal says that nothing is there."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    revision = await caller.revision("f")
    file.unlink()

    with pytest.raises(StaleRevision, match="nothing is there any more") as refused:
        await caller.edit("f", revision, replace(1, 1, "b"))
    present = str(refused.value).partition("present revision is ")[2][:17]
    await caller.edit("f", present, fill("again\n"))

    assert file.read_text() == "again\n"


async def test_a_file_that_appeared_is_not_overwritten(caller: Caller) -> None:
    """Creation is exclusive."""
    revision = await caller.revision("f")
    (caller.workspace / "f").write_text("theirs\n")

    with pytest.raises(StaleRevision):
        await caller.edit("f", revision, fill("ours\n"))

    assert (caller.workspace / "f").read_text() == "theirs\n"


async def test_own_edits_follow_each_other_without_reading(caller: Caller) -> None:
    """A-34: each edit returns the revision for the next, with its context."""
    file = caller.workspace / "f"
    file.write_text("".join(f"{n}\n" for n in range(1, 101)))
    revision = await caller.revision("f", start_line=1, line_count=60)

    first = await caller.edit("f", revision, before(10, "x\ny"), delete(20, 24))
    second = await caller.edit(
        "f", first.details["revision"], replace(10, 10, "X"), after(57, "!")
    )
    with pytest.raises(InvalidArguments, match=r"shown: 1-61"):
        await caller.edit("f", second.details["revision"], replace(90, 90, "unseen"))

    lines = file.read_text().splitlines()
    assert lines[8:12] == ["9", "X", "y", "10"]
    assert lines[56:58] == ["60", "!"]


async def test_two_children_writing_at_once_do_not_lose_each_others_work(tmp_path: Path) -> None:
    """A-34: of several edits on one base exactly one is made."""
    callers = [Caller(tmp_path, conversation=f"c{n}") for n in range(8)]
    file = callers[0].workspace / "f"
    file.write_text("a\n")
    revisions = [await caller.revision("f") for caller in callers]

    results = await asyncio.gather(
        *(
            caller.edit("f", revision, replace(1, 1, caller.conversation))
            for caller, revision in zip(callers, revisions, strict=True)
        ),
        return_exceptions=True,
    )
    for caller in callers:
        caller.database.close()

    done = [n for n, result in enumerate(results) if not isinstance(result, BaseException)]
    assert len(done) == 1
    assert all(isinstance(r, StaleRevision) for n, r in enumerate(results) if n not in done)
    assert file.read_text() == f"c{done[0]}\n"


async def test_a_repeated_call_finds_its_own_work(caller: Caller) -> None:
    """KEYED: the worker died after publishing; nothing is inserted twice."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    revision = await caller.revision("f")
    first = await caller.edit("f", revision, after(1, "b"), ordinal=7)
    caller.restart()

    again = await caller.edit("f", revision, after(1, "b"), ordinal=7)

    assert file.read_text() == "a\nb\n"
    assert again.details == first.details
    assert ResourceEdit.effect is EffectClass.KEYED
    assert ResourceEdit.concurrency is Concurrency.EXCLUSIVE


async def test_a_repeated_creation_finds_its_own_work(caller: Caller) -> None:
    """The same for a new file."""
    revision = await caller.revision("f")
    first = await caller.edit("f", revision, fill("x\n"))

    again = await caller.edit("f", revision, fill("x\n"))

    assert again.details["revision"] == first.details["revision"]


KILLED = """
import asyncio, resource, signal, sys
from pathlib import Path
from tests.tools.caller import Caller, after
async def main():
    caller = Caller(Path(sys.argv[1]))
    revision = await caller.revision("f")
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    await caller.edit("f", revision, after(1, "x" * 400_000), ordinal=7)
asyncio.run(main())
"""


async def test_a_process_killed_while_it_publishes_leaves_the_old_file(caller: Caller) -> None:
    """The kernel kills it inside the write; the next attempt removes what was left."""
    file = caller.workspace / "f"
    file.write_text("a\n")

    dead = subprocess.run([sys.executable, "-c", KILLED, str(caller.root)], check=False)
    left = list(caller.workspace.iterdir())
    assert dead.returncode == -signal.SIGXFSZ
    assert len(left) == 2
    assert file.read_text() == "a\n"
    revision = await caller.revision("f")
    await caller.edit("f", revision, after(1, "x" * 400_000), ordinal=7)

    assert file.read_text() == "a\n" + "x" * 400_000 + "\n"
    assert list(caller.workspace.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\r\nb\n", r"mixed line endings \(1 CRLF, 1 LF\)"),
        (b"a\xff\n", "not UTF-8"),
        (b"a\0b\n", "binary"),
        ("ä\n".encode("utf-16"), "not UTF-8"),
        (b"a\rb\r", "carriage returns"),
        (b"\xed\xa0\x80\n", "not UTF-8"),
    ],
)
async def test_what_cannot_be_kept_intact_is_not_edited(
    caller: Caller, content: bytes, reason: str
) -> None:
    """It can be read, and the reader learns why it cannot be edited."""
    file = caller.workspace / "f"
    file.write_bytes(content)
    seen = await caller.read("f")

    with pytest.raises(OperationUnsupported, match=reason):
        await caller.edit("f", seen.details["revision"], replace(1, 1, "x"))

    assert file.read_bytes() == content
    assert "cannot be edited" in seen.text


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ([replace(1, 2, "x"), delete(2, 3)], "overlap"),
        ([replace(1, 3, "x"), after(2, "y")], "overlap"),
        ([replace(3, 2, "x")], "comes before"),
        ([replace(4, 4, "x")], "no line 4"),
        ([before(4, "x")], "no line 4"),
        ([fill("x")], "not empty"),
        ([fill("x"), fill("y")], "only operation"),
        ([replace(1, 1, "x\0")], "NUL"),
        ([replace(1, 1, "x\ry")], "carriage return"),
        ([replace(2, 3, "2|x\n3|y\n")], "line numbers"),
        ([replace(1, 1, "x" * FILE_BYTES)], "larger"),
    ],
)
async def test_operations_that_do_not_fit_change_nothing(
    caller: Caller, operations: list[dict[str, object]], reason: str
) -> None:
    """All operations are applied, or none."""
    file = caller.workspace / "f"
    file.write_text("1\n2\n3\n")

    with pytest.raises(InvalidArguments, match=reason):
        await caller.change("f", *operations)

    assert file.read_text() == "1\n2\n3\n"


async def test_lines_that_were_not_shown_cannot_be_touched(caller: Caller) -> None:
    """Several windows of one content add up."""
    file = caller.workspace / "f"
    file.write_text("".join(f"{n}\n" for n in range(1, 31)))
    revision = await caller.revision("f", start_line=1, line_count=5)
    with pytest.raises(InvalidArguments, match=r"shown: 1-5\)"):
        await caller.edit("f", revision, replace(5, 6, "x"))
    assert await caller.revision("f", start_line=6, line_count=5) == revision

    await caller.edit("f", revision, replace(5, 6, "x"))

    assert file.read_text().splitlines()[3:6] == ["4", "x", "7"]


async def test_a_line_that_was_cut_cannot_be_touched(caller: Caller) -> None:
    """It was not seen in full."""
    file = caller.workspace / "f"
    file.write_text("x" * 20_000 + "\nshort\n")

    with pytest.raises(InvalidArguments, match="not all shown in full"):
        await caller.change("f", replace(1, 1, "y"))


async def test_a_revision_is_good_for_its_own_file_only(caller: Caller) -> None:
    """Another path, another conversation and an invented alias are stale."""
    for name in ("f", "g"):
        (caller.workspace / name).write_text("a\n")
    revision = await caller.revision("f")
    stranger = Caller(caller.root, conversation="d")

    with pytest.raises(StaleRevision, match="another resource"):
        await caller.edit("g", revision, replace(1, 1, "b"))
    with pytest.raises(StaleRevision, match="not known"):
        await stranger.edit("f", revision, replace(1, 1, "b"))
    with pytest.raises(StaleRevision, match="not known"):
        await caller.edit("f", "RAAAAAAAAAAAAAAAA", replace(1, 1, "b"))
    stranger.database.close()


async def test_a_revision_survives_the_worker(caller: Caller) -> None:
    """A new process knows what was shown."""
    file = caller.workspace / "f"
    file.write_text("a\n")
    revision = await caller.revision("f")
    caller.restart()

    await caller.edit("f", revision, replace(1, 1, "b"))

    assert file.read_text() == "b\n"


async def test_a_link_inside_is_followed_and_kept(caller: Caller) -> None:
    """The target gets the new content; both names share one revision."""
    (caller.workspace / "f").write_text("a\n")
    (caller.workspace / "link").symlink_to("f")
    revision = await caller.revision("f")

    await caller.edit("link", revision, replace(1, 1, "b"))

    assert (caller.workspace / "link").is_symlink()
    assert (caller.workspace / "f").read_text() == "b\n"


@pytest.mark.parametrize("path", [".git/hooks/post-checkout", "sub/.git/config", ".GIT/config"])
async def test_repository_data_is_not_edited(caller: Caller, path: str) -> None:
    """A hook would run outside of any sandbox."""
    with pytest.raises(AccessDenied, match="belongs to Git"):
        await caller.change(path, fill("#!/bin/sh\n"))

    assert not (caller.workspace / path).exists()


async def test_a_directory_is_not_edited(caller: Caller) -> None:
    """The name was free when it was read."""
    revision = await caller.revision("d")
    (caller.workspace / "d").mkdir()

    with pytest.raises(OperationUnsupported, match="directory"):
        await caller.edit("d", revision, fill("x"))


async def test_a_file_that_grew_too_large_is_not_edited(caller: Caller) -> None:
    """The limit holds before the edit, too."""
    file = caller.workspace / "f"
    file.write_bytes(b"a\n")
    revision = await caller.revision("f")
    file.write_bytes(b"a\n" * FILE_BYTES)

    with pytest.raises(OperationUnsupported, match="larger"):
        await caller.edit("f", revision, replace(1, 1, "b"))


async def test_a_file_at_the_limit_is_edited(caller: Caller) -> None:
    """Exactly 4 MiB before and after."""
    file = caller.workspace / "f"
    file.write_bytes(b"a\n" * (FILE_BYTES // 2))

    await caller.change("f", replace(2, 2, "b"))

    assert file.stat().st_size == FILE_BYTES
    assert file.read_bytes()[:6] == b"a\nb\na\n"


async def test_screens_get_a_unified_diff(caller: Caller) -> None:
    """With the counts of what was added and removed."""
    (caller.workspace / "f").write_text("".join(f"{n}\n" for n in range(1, 21)))

    result = await caller.change("f", replace(2, 2, "two\n2.5"), delete(18, 18))

    assert result.details["diff"] == (
        "--- f\n+++ f\n"
        "@@ -1,5 +1,6 @@\n 1\n-2\n+two\n+2.5\n 3\n 4\n 5\n"
        "@@ -15,6 +16,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
    )
    assert (result.details["added"], result.details["removed"]) == (2, 2)
    assert "\n2|two\n3|2.5\n4|3\n" in result.text


async def test_a_huge_insertion_has_a_bounded_answer(caller: Caller) -> None:
    """The model wrote it and may edit it without seeing it again."""
    (caller.workspace / "f").write_text("a\n")

    result = await caller.change("f", after(1, "".join(f"line {n}\n" for n in range(5_000))))
    await caller.edit("f", result.details["revision"], replace(4_000, 4_000, "x"))

    assert len(result.text) < 5_000
    assert len(result.details["diff"]) < 17_000
    assert "more lines of this diff omitted" in result.details["diff"]


async def test_a_full_disk_is_reported_and_the_old_file_kept(caller: Caller) -> None:
    """RLIMIT_FSIZE stands for the disk: the write itself fails."""
    script = (
        "import asyncio, resource, signal, sys\n"
        "from pathlib import Path\n"
        "from activities.errors import PublicationFailed\n"
        "from tests.tools.caller import Caller, after\n"
        "async def main():\n"
        "    caller = Caller(Path(sys.argv[1]))\n"
        "    revision = await caller.revision('f')\n"
        "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "    try:\n"
        "        await caller.edit('f', revision, after(1, 'x' * 400_000))\n"
        "    except PublicationFailed as error:\n"
        "        print(error)\n"
        "asyncio.run(main())\n"
    )
    (caller.workspace / "f").write_text("a\n")

    said = subprocess.run(
        [sys.executable, "-c", script, str(caller.root)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said.startswith("f could not be published: File too large")
    assert (caller.workspace / "f").read_text() == "a\n"
    assert [path.name for path in caller.workspace.iterdir()] == ["f"]


async def test_a_directory_that_cannot_be_written_is_reported(caller: Caller) -> None:
    """A system error is one line for the model."""
    directory = caller.workspace / "d"
    directory.mkdir()
    (directory / "f").write_text("a\n")
    if subprocess.run(["chattr", "+i", directory], check=False, capture_output=True).returncode:
        pytest.skip("no immutable directories here")
    try:
        with pytest.raises(PublicationFailed, match="could not be published"):
            await caller.change("d/f", replace(1, 1, "b"))
    finally:
        subprocess.run(["chattr", "-i", directory], check=True)

    assert (directory / "f").read_text() == "a\n"


async def test_a_cancelled_edit_is_over_when_it_ends(caller: Caller) -> None:
    """It was published completely, and nothing happens to the file afterwards."""
    file = caller.workspace / "f"
    deadline = time.monotonic() + 60
    while True:
        file.write_bytes(b"line\n" * 500_000)
        revision = await caller.revision("f")
        call = asyncio.ensure_future(caller.edit("f", revision, after(1, "new")))
        while len(list(caller.workspace.iterdir())) == 1 and not call.done():
            await asyncio.sleep(0)
        if call.cancel():  # Now it is between writing the new content and its end.
            break
        assert time.monotonic() < deadline

    with pytest.raises(asyncio.CancelledError):
        await call

    assert file.read_bytes()[:14] == b"line\nnew\nline\n"
    assert list(caller.workspace.iterdir()) == [file]


async def test_old_revisions_and_their_contents_go(caller: Caller) -> None:
    """At most sixteen are kept, and no snapshot without a revision."""
    file = caller.workspace / "f"
    file.write_text("0\n")
    revisions = [await caller.revision("f")]
    for n in range(1, 20):
        changed = await caller.edit("f", revisions[-1], replace(1, 1, str(n)))
        revisions.append(changed.details["revision"])

    kept = sorted(path.name for path in (caller.objects.root / "snapshots").glob("*/*"))
    assert kept == sorted(hashlib.sha256(b"%d\n" % n).hexdigest() for n in range(4, 20))
    with pytest.raises(StaleRevision, match="not known"):
        await caller.edit("f", revisions[3], replace(1, 1, "x"))


async def test_no_tool_schema_needs_a_reference() -> None:
    """Every variant of an operation is declared as a closed object."""
    parameters = ResourceEdit(KINDS).declaration().parameters
    variants = parameters["properties"]["operations"]["items"]["anyOf"]

    assert "$ref" not in str(parameters)
    assert [variant["type"] for variant in variants] == ["object"] * 5
    assert not any(variant["additionalProperties"] for variant in variants)
    assert [variant["properties"]["operation"]["const"] for variant in variants] == [
        "replace-lines",
        "delete-lines",
        "insert-before",
        "insert-after",
        "replace-empty",
    ]
