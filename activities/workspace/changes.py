"""What a change looks like: hunks for a diff, and the difference of two contents."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from activities.workspace.lines import Splice
from workflows.policy.resources import CONTEXT_LINES

_COMPARED_LINES = 200
"""Line by line comparison is quadratic; a longer middle counts as one replaced block."""


@dataclass(frozen=True)
class Hunk:
    """Neighbouring changes with the unchanged lines around them."""

    old_first: int
    old_count: int
    new_first: int
    new_count: int
    rows: tuple[str, ...]
    """Lines with the sign of a unified diff."""


def hunks(old: Sequence[str], splices: Sequence[Splice]) -> tuple[Hunk, ...]:
    """Return the hunks of applying *splices* (ordered) to the lines *old*."""
    result: list[Hunk] = []
    distance = 0
    for group in _grouped(splices):
        hunk = _hunk(old, group, distance)
        result.append(hunk)
        distance += hunk.new_count - hunk.old_count
    return tuple(result)


def unified(path: str, parts: Sequence[Hunk], limit: int) -> str:
    """Return *parts* as a unified diff of at most about *limit* characters."""
    rows = [f"--- {path}", f"+++ {path}"]
    for part in parts:
        old, new = _span(part.old_first, part.old_count), _span(part.new_first, part.new_count)
        rows.append(f"@@ -{old} +{new} @@")
        rows += part.rows
    shown: list[str] = []
    room = limit
    for row in rows:
        if len(row) + 1 > room:
            left = len(rows) - len(shown)
            return "\n".join([*shown, f"[... {left} more lines of this diff omitted ...]", ""])
        shown.append(row)
        room -= len(row) + 1
    return "\n".join([*shown, ""])


def difference(old: Sequence[str], new: Sequence[str]) -> tuple[Splice, ...]:
    """Return splices that turn *old* into *new*."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(before), len(after)) > _COMPARED_LINES:
        return (Splice(start + 1, start + len(before), tuple(after)),)
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        Splice(start + low + 1, start + high, tuple(after[first:last]))
        for tag, low, high, first, last in codes
        if tag != "equal"
    )


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return place
    return min(len(left), len(right))


def _grouped(splices: Sequence[Splice]) -> list[list[Splice]]:
    groups: list[list[Splice]] = []
    for splice in splices:
        if groups and splice.first - groups[-1][-1].last - 1 <= 2 * CONTEXT_LINES:
            groups[-1].append(splice)
        else:
            groups.append([splice])
    return groups


def _hunk(old: Sequence[str], group: Sequence[Splice], distance: int) -> Hunk:
    first = max(1, group[0].first - CONTEXT_LINES)
    last = min(len(old), group[-1].last + CONTEXT_LINES)
    rows: list[str] = []
    position = first
    for splice in group:
        rows += [f" {line}" for line in old[position - 1 : splice.first - 1]]
        rows += [f"-{line}" for line in old[splice.first - 1 : splice.last]]
        rows += [f"+{line}" for line in splice.lines]
        position = splice.last + 1
    rows += [f" {line}" for line in old[position - 1 : last]]
    added = sum(len(splice.lines) for splice in group)
    removed = sum(splice.last - splice.first + 1 for splice in group)
    count = last - first + 1
    return Hunk(first, count, first + distance, count + added - removed, tuple(rows))


def _span(first: int, count: int) -> str:
    # An empty side names the line before it, as diff and patch do.
    return f"{first if count else first - 1},{count}"
