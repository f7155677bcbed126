"""The in-flight journal on disk."""

import asyncio
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from activities.errors import UnwritableRootError
from activities.inflight import mark_output_started, marking, output_started
from tests.recovery.conftest import ROOT, until
from worker.journal import Entry, Journal, take_abandoned

ENTRY = Entry(
    task_token=b"\x00\xfftoken",
    namespace="default",
    workflow="turn:c:1",
    run="r",
    activity="1",
    activity_type="request_model",
)
DIE = """
import os, sys
from pathlib import Path
from tests.recovery.test_journal import ENTRY
from worker.journal import Journal
journal = Journal(Path(sys.argv[1]))
for _ in range(3):
    journal.begin(ENTRY)
journal.begin(ENTRY).mark_output_started()
os.kill(os.getpid(), 9)
"""


def die_in_the_middle(inflight: Path) -> None:
    """Leave the journal of a process that was killed with four attempts running."""
    killed = subprocess.run([sys.executable, "-c", DIE, str(inflight)], cwd=ROOT, check=False)
    assert killed.returncode == -9


def names(directory: Path) -> list[str]:
    """Return what is in *directory*."""
    return sorted(path.name for path in directory.iterdir())


async def test_an_entry_is_private_and_complete(inflight: Path) -> None:
    """Mode 0600 below 0700, and everything that a successor needs."""
    journal = Journal(inflight)
    journal.begin(ENTRY)

    path = journal.directory / "1.begun"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.directory.stat().st_mode) == 0o700
    assert Entry.model_validate_json(path.read_bytes()) == ENTRY
    journal.close()


async def test_output_is_noted_once_and_for_all(inflight: Path) -> None:
    """The file's name says it, however often the activity does."""
    journal = Journal(inflight)
    note = journal.begin(ENTRY)

    with marking(note.mark_output_started):
        mark_output_started()
        mark_output_started()

    assert names(journal.directory) == ["1.output", "lock"]
    journal.close()


async def test_marking_reaches_threads_and_tasks_of_the_activity(inflight: Path) -> None:
    """The provider's stream may be read in either."""
    journal = Journal(inflight)
    note = journal.begin(ENTRY)

    with marking(note.mark_output_started):
        await asyncio.create_task(asyncio.to_thread(mark_output_started))

    assert (journal.directory / "1.output").exists()
    journal.close()


def test_marking_outside_of_a_journal_does_nothing() -> None:
    """Activities run in unit tests as they are."""
    mark_output_started()

    assert not output_started()


async def test_an_entry_goes_when_its_activity_has_ended(inflight: Path) -> None:
    """After a moment in which its outcome reaches the server."""
    journal = Journal(inflight)
    journal.end(journal.begin(ENTRY))

    await until(lambda: names(journal.directory) == ["lock"])
    journal.close()


def test_closing_leaves_nothing(inflight: Path) -> None:
    """A worker that ends in good order needs no recovery."""
    journal = Journal(inflight)
    journal.begin(ENTRY)

    journal.close()

    assert names(inflight) == ["lock"]
    assert take_abandoned(inflight) == []


def test_a_living_journal_is_not_abandoned(inflight: Path) -> None:
    """Not even to the process that owns it."""
    journal = Journal(inflight)
    journal.begin(ENTRY)

    assert take_abandoned(inflight) == []
    journal.close()


def test_the_journal_of_a_killed_process_is_abandoned(inflight: Path) -> None:
    """With each attempt, and whether it had produced output."""
    die_in_the_middle(inflight)

    (abandoned,) = take_abandoned(inflight)

    assert [started for _, started in abandoned.attempts()] == [False, False, False, True]
    assert {entry for entry, _ in abandoned.attempts()} == {ENTRY}
    abandoned.release()


def test_an_abandoned_journal_is_taken_by_one(inflight: Path) -> None:
    """A second successor finds nothing, until the first one lets go in the middle."""
    die_in_the_middle(inflight)
    (first,) = take_abandoned(inflight)
    assert take_abandoned(inflight) == []

    first.release()
    (again,) = take_abandoned(inflight)
    assert len(again.attempts()) == 4
    again.discard()
    again.release()

    assert take_abandoned(inflight) == []
    assert names(inflight) == ["lock"]


def test_a_damaged_entry_does_not_hide_the_others(inflight: Path) -> None:
    """Its attempt is left to its timeout."""
    die_in_the_middle(inflight)
    (directory,) = (path for path in inflight.iterdir() if path.is_dir())
    (directory / "2.begun").write_bytes(b'{"task_token": ')

    (abandoned,) = take_abandoned(inflight)

    assert len(abandoned.attempts()) == 3
    abandoned.release()


def test_a_half_written_entry_is_none(inflight: Path) -> None:
    """A process killed while it writes leaves a file that no one reads."""
    die_in_the_middle(inflight)
    (directory,) = (path for path in inflight.iterdir() if path.is_dir())
    (directory / "9.new").write_bytes(b"")

    (abandoned,) = take_abandoned(inflight)

    assert len(abandoned.attempts()) == 4
    abandoned.release()


def test_a_child_process_does_not_keep_its_dead_worker_alive(inflight: Path) -> None:
    """Shells outlive the worker; the lock must not."""
    journal = Journal(inflight)
    child = subprocess.Popen(["sleep", "600"])
    try:
        descriptor = os.open(journal.directory / "lock", os.O_RDWR)
        os.close(journal._lock)  # noqa: SLF001 -- what the kernel does at any death
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if the child holds it
        os.close(descriptor)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_root_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """A file stands where the directory has to be."""
    (tmp_path / "inflight").write_text("in the way")

    with pytest.raises(UnwritableRootError, match="cannot be created"):
        Journal(tmp_path / "inflight")
