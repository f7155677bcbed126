"""One page of matches: whole files as long as there is room."""

from activities.tools.tool import ToolResult
from activities.workspace.matches import FileMatches, Row, blocks
from activities.workspace.names import listed, readable
from workflows.policy.searches import SEARCH_CHARACTERS

_NOTE_ROOM = 300


class MatchPage:
    """Collects files until the page is full.

    A file that fits only in part is shown in part and comes again, whole, at the
    beginning of the next page; if it is alone on its page, its rest is only counted.
    """

    def __init__(self, max_results: int, max_per_file: int, file_offset: int) -> None:
        self.shortfall: str | None = None
        """Why the search did not see everything."""
        self._max_results = max_results
        self._max_per_file = max_per_file
        self._skip = file_offset
        self._next = file_offset
        self._has_more = False
        self._matches = 0
        self._room = SEARCH_CHARACTERS - _NOTE_ROOM
        self._blocks: list[str] = []
        self._paths: list[str] = []

    def add(self, file: FileMatches) -> bool:
        """Take the next *file* and tell whether another is wanted."""
        if self._skip:
            self._skip -= 1
            return True
        rows = self._fitting(file)
        shown = sum(row.found is not None for row in rows)
        left = file.count - shown
        is_partial = left > 0 and shown < self._max_per_file
        if is_partial and self._blocks:
            self._has_more = True
            if shown:
                self._put(file, rows, f"[{left} or more lines of this file on the next page]")
            return False
        self._next += 1
        self._put(file, rows, f"[{left} or more further lines of this file match]" if left else "")
        return True

    def as_result(self) -> ToolResult:
        """Return the page as text for the model."""
        notes = [f"{self._matches} matches in {len(self._paths)} files"]
        if not self._paths:
            notes = ["no match" + (f" from file-offset {self._next} on" if self._next else "")]
        if self._has_more:
            notes.append(f"go on with file-offset {self._next}")
        if self.shortfall:
            notes.append(self.shortfall)
        details = {
            "paths": self._paths,
            "matches": self._matches,
            "next": self._next if self._has_more else None,
            "complete": self.shortfall is None,
        }
        return ToolResult("\n\n".join([*self._blocks, f"[{'; '.join(notes)}]"]), details)

    def _fitting(self, file: FileMatches) -> list[Row]:
        """Return the rows of *file* that the page has room for."""
        limit = min(self._max_per_file, self._max_results - self._matches)
        room = self._room - len(listed(file.path))
        rows: list[Row] = []
        for row in file.rows:
            room -= len(str(row)) + len("\n--\n")
            if room < 0 or (row.found is not None and not limit):
                break
            limit -= row.found is not None
            rows.append(row)
        return rows

    def _put(self, file: FileMatches, rows: list[Row], note: str) -> None:
        block = "\n".join(filter(None, [listed(file.path), *blocks(rows), note]))
        self._blocks.append(block)
        self._room -= len(block) + len("\n\n")
        self._matches += sum(row.found is not None for row in rows)
        self._paths.append(readable(file.path))
