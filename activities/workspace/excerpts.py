"""The lines around changes as they are now, for the one who has to go on from there."""

from collections.abc import Sequence

from activities.workspace.changes import Hunk
from activities.workspace.ranges import Ranges, covers, merged
from activities.workspace.window import numbered


def excerpts(lines: Sequence[str], parts: Sequence[Hunk], budget: int) -> tuple[str, Ranges]:
    """Return the present *lines* of each hunk as far as they fit, and which those are."""
    blocks: list[str] = []
    shown: list[tuple[int, int]] = []
    for part in parts:
        wanted = lines[part.new_first - 1 : part.new_first - 1 + part.new_count]
        if wanted and budget <= 0:
            blocks.append("[more changes are not shown]")
            break
        window = numbered(wanted, part.new_first, budget)
        shown.append((window.first, window.last))
        budget -= len(window.text) + 1
        left = part.new_first + len(wanted) - 1 - window.last
        blocks += [window.text] if wanted else []
        if left:
            blocks.append(f"[{left} lines are not shown in full]")
            budget = 0
    return "\n...\n".join(blocks), merged(shown)


def shows_all(parts: Sequence[Hunk], shown: Ranges) -> bool:
    """Tell whether *shown* holds every line of *parts*."""
    return all(
        covers(shown, part.new_first, part.new_first + part.new_count - 1)
        for part in parts
        if part.new_count
    )
