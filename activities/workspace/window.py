"""Numbered lines within a budget of characters, from memory or from a large file.

A row is ``NUMBER|TEXT``.  A line that does not fit by itself is shown in part, and
then does not count as shown: nobody may edit what they have not seen.
"""

import codecs
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from activities.errors import OperationUnsupported
from activities.workspace.lines import REPLACEMENT
from workflows.policy.resources import SCAN_BYTES

_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Window:
    """Rows for reading, and which lines they show completely."""

    text: str
    first: int
    last: int
    """The last line that is shown completely; before *first* when none is."""
    is_cut: bool = False
    """Whether the line after *last* is shown in part."""

    @property
    def next_line(self) -> int:
        """Where reading goes on."""
        return self.last + (2 if self.is_cut else 1)


def numbered(lines: Sequence[str], first: int, budget: int) -> Window:
    """Return *lines*, the first of which has the number *first*, as far as they fit."""
    rows: list[str] = []
    room = budget
    for number, line in enumerate(lines, first):
        row = f"{number}|{line}"
        if len(row) + 1 > room:
            if rows:
                break
            return Window(row[:room], first, first - 1, is_cut=True)
        rows.append(row)
        room -= len(row) + 1
    return Window("\n".join(rows), first, first + len(rows) - 1)


def large_window(descriptor: int, first: int, count: int, budget: int) -> Window:
    """Return lines of an open file of any size without holding more than they need.

    Raises:
        OperationUnsupported: the window begins beyond the part that is scanned.
    """
    content = _from_line(descriptor, first, 4 * budget + count)
    # A character that the boundary cuts is left out rather than damaged.
    text = (
        codecs.getincrementaldecoder("utf-8")("replace").decode(content).replace("\0", REPLACEMENT)
    )
    *complete, rest = text.split("\n")
    lines = [line.removesuffix("\r") for line in complete] + ([rest] if rest else [])
    return numbered(lines[:count], first, budget)


def _from_line(descriptor: int, first: int, limit: int) -> bytes:
    """Return up to *limit* bytes from the beginning of line *first* on."""
    position, missing = 0, first - 1
    if not missing:
        return os.pread(descriptor, limit, 0).removeprefix(codecs.BOM_UTF8)
    for chunk in _chunks(descriptor):
        found = chunk.count(b"\n")
        if found >= missing:
            return os.pread(descriptor, limit, position + _after_line(chunk, missing))
        missing -= found
        position += len(chunk)
    return b""


def _chunks(descriptor: int) -> Iterator[bytes]:
    position = 0
    while chunk := os.pread(descriptor, _CHUNK, position):
        yield chunk
        position += len(chunk)
        if position >= SCAN_BYTES:
            raise OperationUnsupported(
                f"The line begins after the first {SCAN_BYTES} bytes; use shell.run to read there"
            )


def _after_line(chunk: bytes, count: int) -> int:
    place = -1
    for _ in range(count):
        place = chunk.index(b"\n", place + 1)
    return place + 1
