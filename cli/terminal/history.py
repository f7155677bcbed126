"""What was typed before: the newest hundred inputs, in a file that only its owner reads."""

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

ENTRIES = 100
"""100 history entries (domain reference 20)."""
PRIVATE = 0o600
NAME = "input-history.jsonl"


class InputHistory(History):
    """One JSON string a line, oldest first; sessions at the same time share the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, newest first."""
        try:
            content = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return reversed(_entries(content))

    def store_string(self, string: str) -> None:
        """Add *string* as the newest entry and forget the oldest beyond the limit."""
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, PRIVATE)
        with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            entries = [*_entries(file.read()), string][-ENTRIES:]
            file.seek(0)
            file.write("".join(f"{json.dumps(entry)}\n" for entry in entries))
            file.truncate()


def _entries(content: str) -> list[str]:
    """Return the entries of *content*; a line that another program wrote is no entry."""
    found = []
    for line in content.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, str):
            found.append(entry)
    return found
