"""Observing, windowing and publishing single files."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import OperationUnsupported, PublicationFailed, StaleRevision
from activities.workspace.lines import parse
from activities.workspace.paths import Place, entered, locate
from activities.workspace.publication import publish
from activities.workspace.revision import MISSING, Snapshot, digest_of, read_whole, snapshot
from activities.workspace.window import Window, large_window, numbered
from workflows.policy.resources import FILE_BYTES

WRITER = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY)
print("ready", flush=True)
letter = 0
while True:
    letter = (letter + 1) % 26
    os.pwrite(descriptor, bytes([65 + letter]) * 2_000_000, 0)
"""


def observe(place: Place) -> Snapshot:
    """Return what is there now."""
    with entered(place.parent) as parent:
        return snapshot(place, parent)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """And is read once it stands still."""
    file = tmp_path / "f"
    file.write_bytes(b"A" * 2_000_000)
    place = locate(tmp_path, "f")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        deadline = time.monotonic() + 60
        refused = False
        while not refused and time.monotonic() < deadline:
            try:
                observe(place)
            except StaleRevision:
                refused = True
        writer.kill()

    assert refused
    assert observe(place).content == file.read_bytes()


def test_a_file_whose_size_lies_is_refused(tmp_path: Path) -> None:
    """The kernel says that its own files are empty."""
    descriptor = os.open("/proc/self/status", os.O_RDONLY)
    try:
        with pytest.raises(StaleRevision, match="changed while it was read"):
            read_whole(Place(tmp_path, ("status",)), descriptor)
    finally:
        os.close(descriptor)


def test_a_file_over_the_limit_is_not_loaded(tmp_path: Path) -> None:
    """One byte more than 4 MiB, or a terabyte."""
    with (tmp_path / "f").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "g").write_bytes(b"x" * FILE_BYTES)

    with pytest.raises(OperationUnsupported, match="larger"):
        observe(locate(tmp_path, "f"))
    assert observe(locate(tmp_path, "g")).content == b"x" * FILE_BYTES


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=30)
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(10, 200),
)
def test_a_large_file_shows_the_same_window_as_a_small_one(
    lines: list[str], ending: str, first: int, count: int, budget: int
) -> None:
    """The bytes are cut at any place, also inside a character."""
    content = ending.join(lines).encode()
    text = parse(content)
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()

        window = large_window(file.fileno(), first, count, budget)

    wanted = text.lines[first - 1 : first - 1 + count]
    assert window == numbered(wanted, first, budget)


def test_a_line_that_is_cut_is_not_counted_as_shown() -> None:
    """Only the first line of a window is ever cut."""
    assert numbered(["aaaa", "b"], 7, 4) == Window("7|aa", 7, 6, is_cut=True)
    assert numbered(["a", "bbbb"], 7, 5) == Window("7|a", 7, 7)


def test_only_the_observed_content_is_replaced(tmp_path: Path) -> None:
    """Checked again just before the replacement; nothing is left beside the file."""
    file = tmp_path / "f"
    file.write_bytes(b"theirs")

    with pytest.raises(StaleRevision):
        publish(locate(tmp_path, "f"), b"ours", base=digest_of(b"old"), key="k")
    with pytest.raises(StaleRevision):
        publish(locate(tmp_path, "f"), b"ours", base=MISSING, key="k")
    with pytest.raises(StaleRevision):
        publish(locate(tmp_path, "g"), b"ours", base=digest_of(b"old"), key="k")

    assert file.read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_name_without_an_extension_stays_as_it_is(tmp_path: Path) -> None:
    """Also one that is as long as names may be."""
    for name in ("Makefile", "x" * 255):
        publish(locate(tmp_path, name), b"x", base=MISSING, key="k")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "x" * 255]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user may write."""
    if os.geteuid():
        pytest.skip("only root can act as another user")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def test_what_cannot_be_kept_is_said(shared: Path) -> None:
    """A-33: a user cannot give files away, and a group's rights do not go to another group."""
    file = shared / "f"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    file.chmod(0o666)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        notes = publish(locate(shared, "f"), b"new", base=digest_of(b"old"), key="k")
    finally:
        os.seteuid(0)
        os.setegid(0)

    status = file.stat()
    assert file.read_bytes() == b"new"
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65534, 0o606)
    assert notes == (
        "the file now belongs to user 65534 instead of 1234",
        "group 4321 could not be kept and lost its permissions",
    )


def test_a_directory_that_may_not_be_written_is_said(shared: Path) -> None:
    """In one line, and the file stays."""
    file = shared / "f"
    file.write_bytes(b"old")
    shared.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(PublicationFailed, match="f could not be published: Permission denied"):
            publish(locate(shared, "f"), b"new", base=digest_of(b"old"), key="k")
    finally:
        os.seteuid(0)

    assert file.read_bytes() == b"old"
