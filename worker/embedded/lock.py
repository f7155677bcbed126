"""Locks that live exactly as long as the process that holds them.

The lock is the kernel's (``flock``), so a file left behind by a killed process is no
obstacle.  The holder signs the file, so that others can tell who it is without
trying the lock, which might keep somebody else from getting it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from activities.configuration.form_writer import write_form
from activities.configuration.forms import parse_form
from activities.errors import ConfigurationError, LockHeldError, UnwritableRootError
from worker.embedded.process import Process
from worker.embedded.process_form import as_process, process_form


@contextmanager
def locked(path: Path, *, held: str) -> Iterator[int]:
    """Hold the lock at *path* and lend its descriptor.

    A process that inherits the descriptor keeps the lock after this block has ended.

    Raises:
        LockHeldError: somebody else holds it; *held* says what that means.
        UnwritableRootError: the file cannot be created.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UnwritableRootError(f"{path}: cannot be locked: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockHeldError(held) from error
        yield descriptor
    finally:
        os.close(descriptor)


def sign(descriptor: int, process: Process) -> None:
    """Write into a lock file that *process* is the holder."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{write_form(process_form(process))}\n".encode(), 0)


def signer(path: Path) -> Process | None:
    """Return the living process that signed the lock at *path*."""
    try:
        process = as_process(parse_form(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, ConfigurationError):
        return None  # never signed, or being signed at this moment
    return process if process.is_alive else None
