"""The in-flight journal: which activities this worker process runs, for whoever comes after it.

One directory per worker process, held by a file lock for as long as the process
lives: the kernel lets go of it at any death, and no reused pid can fake one.  One
small file per running activity, written whole, never flushed to the disk: after
a power failure nothing of it is needed.
"""

import fcntl
import logging
import os
import shutil
import time
from asyncio import get_running_loop
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.errors import UnwritableRootError
from activities.inflight import marking

LINGER: Final = timedelta(seconds=2)
"""An entry outlives its activity a little, until the server has the outcome: failing
an attempt that has ended does nothing, while a lost outcome would wait for a timeout."""
LOCK: Final = "lock"
BEGUN: Final = ".begun"
OUTPUT: Final = ".output"
"""An entry's suffix tells whether output has started: renaming is the cheapest note."""

_log = logging.getLogger(__name__)


class Entry(BaseModel):
    """One activity attempt, as its successor needs to know it."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    task_token: bytes
    namespace: str
    workflow: str
    run: str
    activity: str
    """The activity's id within its workflow."""
    activity_type: str


class Note:
    """The file of one running attempt."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark_output_started(self) -> None:
        """Note that the attempt has produced output, once."""
        if self._path.suffix == BEGUN:
            self._path = self._path.replace(self._path.with_suffix(OUTPUT))

    def remove(self) -> None:
        """Forget the attempt."""
        self._path.unlink(missing_ok=True)


class Journal:
    """The running attempts of this process, in a directory of its own."""

    def __init__(self, inflight: Path) -> None:
        """Take a new directory below *inflight*.

        Raises:
            UnwritableRootError: it cannot be created.
        """
        self.directory = inflight / f"{os.getpid()}-{time.time_ns():x}"
        self._next = 0
        try:
            with _exclusive(inflight):
                self.directory.mkdir(mode=0o700)
                self._lock = _lock_file(self.directory)
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UnwritableRootError(
                f"{self.directory}: cannot be created: {error.strerror}"
            ) from error

    def begin(self, entry: Entry) -> Note:
        """Write down that *entry* runs now."""
        self._next += 1
        path = self.directory / f"{self._next}{BEGUN}"
        temporary = path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, entry.model_dump_json().encode())
        finally:
            os.close(descriptor)
        return Note(temporary.replace(path))

    def end(self, note: Note) -> None:
        """Forget *note* once its outcome had the time to reach the server."""
        get_running_loop().call_later(LINGER.total_seconds(), note.remove)

    def close(self) -> None:
        """Forget everything: this worker ends in good order."""
        with _exclusive(self.directory.parent):
            shutil.rmtree(self.directory)
        os.close(self._lock)


class Journaling(Interceptor):
    """Writes each activity attempt of a worker into *journal* for as long as it runs."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 -- the SDK's signature
        """Stand in front of *next*."""
        return _JournaledActivity(next, self._journal)


class _JournaledActivity(ActivityInboundInterceptor):
    def __init__(self, following: ActivityInboundInterceptor, journal: Journal) -> None:
        super().__init__(following)
        self._journal = journal

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002 -- the SDK's signature
        try:
            note = self._journal.begin(_entry(activity.info()))
        except OSError as error:
            # The journal only makes revival fast; heartbeats remain.
            _log.warning("The in-flight journal cannot be written: %s", error)
            return await super().execute_activity(input)
        try:
            with marking(note.mark_output_started):
                return await super().execute_activity(input)
        finally:
            self._journal.end(note)


def _entry(info: activity.Info) -> Entry:
    return Entry(
        task_token=info.task_token,
        namespace=info.namespace,
        workflow=info.workflow_id or "",
        run=info.workflow_run_id or "",
        activity=info.activity_id,
        activity_type=info.activity_type,
    )


class AbandonedJournal:
    """The directory of a worker that died, held so that nobody else takes it up."""

    def __init__(self, directory: Path, lock: int) -> None:
        self._directory = directory
        self._lock = lock

    def attempts(self) -> list[tuple[Entry, bool]]:
        """Return each attempt that was running, and whether its output had started."""
        return [
            (entry, path.suffix == OUTPUT)
            for path in sorted(self._directory.iterdir())
            if path.suffix in {BEGUN, OUTPUT} and (entry := _read(path)) is not None
        ]

    def discard(self) -> None:
        """Remove it: everything in it has been reported."""
        with _exclusive(self._directory.parent):
            shutil.rmtree(self._directory)

    def release(self) -> None:
        """Let go of it; what was not discarded is there for the next worker."""
        os.close(self._lock)


def take_abandoned(inflight: Path) -> list[AbandonedJournal]:
    """Return the journals below *inflight* whose workers died, for this process alone."""
    if not inflight.is_dir():
        return []
    with _exclusive(inflight):
        found = [_taken(directory) for directory in sorted(inflight.iterdir())]
    return [journal for journal in found if journal is not None]


def _taken(directory: Path) -> AbandonedJournal | None:
    if not directory.is_dir():
        return None
    lock = _lock_file(directory)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)  # its worker lives, or another successor has it
        return None
    return AbandonedJournal(directory, lock)


def _read(path: Path) -> Entry | None:
    try:
        return Entry.model_validate_json(path.read_bytes())
    except ValidationError:
        _log.warning("%s is damaged; its attempt is left to its timeout", path)
        return None


@contextmanager
def _exclusive(inflight: Path) -> Iterator[None]:
    """Keep others from creating and from taking directories meanwhile."""
    inflight.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _lock_file(inflight)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _lock_file(directory: Path) -> int:
    return os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
