"""What ripgrep finds in files, one file at a time and bounded.

A record is a JSON object whose strings are UTF-8 text or, for anything else, base64.
"""

import base64
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field

from activities.workspace.lines import REPLACEMENT
from activities.workspace.ripgrep import TOO_LONG
from workflows.policy.searches import SHOWN_LINE

_LEAD = SHOWN_LINE // 3
"""How much of a long line is shown before the match."""
_LONGEST_FOUND = 2 * SHOWN_LINE


class _Content(BaseModel):
    text: str = ""
    encoded: str | None = Field(default=None, alias="bytes")

    @property
    def raw(self) -> bytes:
        return self.text.encode() if self.encoded is None else base64.b64decode(self.encoded)


class _Span(BaseModel):
    start: int
    end: int


class _Data(BaseModel):
    path: _Content = _Content()
    lines: _Content = _Content()
    line_number: int | None = None
    submatches: tuple[_Span, ...] = ()


class _Record(BaseModel):
    type: Literal["begin", "match", "context", "end", "summary"]
    data: _Data


@dataclass(frozen=True)
class Row:
    """One line of a file, matching or beside one that does."""

    number: int | None
    """None for a line that is too long to be reported."""
    text: str
    found: str | None = None
    """What matched; None for a line of context."""

    def __str__(self) -> str:
        """Return the row as it is listed: ``12:text``, or ``12-text`` for context."""
        mark = ":" if self.found is not None else "-"
        return f"{'?' if self.number is None else self.number}{mark}{self.text}"


@dataclass
class FileMatches:
    """The rows of one file, in order."""

    path: str
    rows: list[Row] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many lines match."""
        return sum(row.found is not None for row in self.rows)


class MatchReader:
    """Puts records together to files."""

    def __init__(self) -> None:
        self._file: FileMatches | None = None

    def take(self, record: bytes) -> FileMatches | None:
        """Take the next *record* and return a file that it completes."""
        if record == TOO_LONG:
            if self._file is not None:
                self._file.rows.append(Row(None, "[a very long line]", ""))
            return None
        parsed = _Record.model_validate_json(record)
        if parsed.type == "begin":
            path = parsed.data.path.raw.removeprefix(b"./")
            self._file = FileMatches(os.fsdecode(path))
        elif parsed.type == "end":
            return self._file
        elif parsed.type != "summary" and self._file is not None:
            self._file.rows.append(_row(parsed))
        return None


def _row(record: _Record) -> Row:
    line = record.data.lines.raw.rstrip(b"\r\n")
    if record.type == "context":
        return Row(record.data.line_number, _excerpt(_text(line), 0))
    spans = record.data.submatches or (_Span(start=0, end=0),)
    place = len(_text(line[: spans[0].start]))
    found = _text(line[spans[0].start : spans[0].end])[:_LONGEST_FOUND]
    return Row(record.data.line_number, _excerpt(_text(line), place), found)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\0", REPLACEMENT)


def _excerpt(line: str, place: int) -> str:
    """Return the part of a long *line* around *place*."""
    if len(line) <= SHOWN_LINE:
        return line
    start = max(0, min(place - _LEAD, len(line) - SHOWN_LINE))
    end = start + SHOWN_LINE
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def blocks(rows: Iterable[Row]) -> list[str]:
    """Return *rows* as text, with ``--`` where lines between them are left out."""
    result: list[str] = []
    last: int | None = None
    has_context = False
    for row in rows:
        has_context = has_context or row.found is None
        if has_context and last is not None and row.number is not None and row.number > last + 1:
            result.append("--")
        result.append(str(row))
        last = row.number
    return result
