"""One log file of bounded size, written by a process that we do not control.

The writer holds the descriptor for life, so the file is never renamed under it: its
content is copied aside and the file is cut to nothing.  Never a pipe: a process whose
log is not drained would freeze.
"""

import os
import shutil
from pathlib import Path
from typing import Final

from activities.errors import UnwritableRootError

MAX_BYTES: Final = 8 * 1024 * 1024
"""A log is moved aside at this size; one older part is kept."""
_TAIL_BYTES: Final = 16 * 1024


class LogFile:
    """The log at *path*, with at most one older part beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> int:
        """Return a descriptor that appends, which the caller closes.

        Raises:
            UnwritableRootError: the file cannot be opened.
        """
        self.shorten()
        try:
            # Appending makes every write find the new end after the file was cut.
            return os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        except OSError as error:
            raise UnwritableRootError(
                f"{self.path}: cannot be opened: {error.strerror}"
            ) from error

    def shorten(self) -> None:
        """Move the content aside if there is too much of it."""
        if not self.path.exists() or self.path.stat().st_size < MAX_BYTES:
            return
        older = self.path.with_name(f"{self.path.name}.1")
        try:
            private = os.open(older, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with self.path.open("rb") as source, os.fdopen(private, "wb") as target:
                shutil.copyfileobj(source, target)
        finally:
            # Even on a full disk, or just then: the running log must not grow for ever.
            os.truncate(self.path, 0)

    def last_line(self, *, after: int = 0) -> str:
        """Return the last line that says something, of what was written beyond *after*."""
        size = self.size()
        if size <= after:
            return ""
        with self.path.open("rb") as file:
            file.seek(max(after, size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def size(self) -> int:
        """Return how much is in it now."""
        return self.path.stat().st_size if self.path.exists() else 0
