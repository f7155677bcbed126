"""What ``search.files`` and ``search.glob`` share: a walk over the names, and one page."""

import asyncio
import os
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta

from pydantic import Field

from activities.errors import InvalidArguments
from activities.tools.tool import Arguments, ToolContext, ToolResult
from activities.workspace.best import Best
from activities.workspace.closeness import Rank
from activities.workspace.names import listed, readable
from activities.workspace.paths import locate
from activities.workspace.ripgrep import hidden, records, searching
from workflows.policy.resources import LABEL_CHARACTERS
from workflows.policy.searches import (
    DEFAULT_RESULTS,
    LONGEST_BUDGET_MS,
    MOST_RESULTS,
    SEARCH_CHARACTERS,
)

_LONGEST_PATH = 16 * 1024
_WALK_BUDGET = timedelta(milliseconds=LONGEST_BUDGET_MS)
"""The longest time budget of any search."""


class PageArguments(Arguments):
    """Which part of the answer is wanted."""

    page: int = Field(default=0, ge=0, le=1_000, description="from 0")
    max_results: int = Field(default=DEFAULT_RESULTS, ge=1, le=MOST_RESULTS)


@dataclass(frozen=True)
class Page:
    """One page of paths, best first."""

    paths: tuple[str, ...]
    total: int
    is_complete: bool


async def walk(
    context: ToolContext, asked: PageArguments, rank: Callable[[str], Rank | None]
) -> Page:
    """Return the page of the files that *rank* accepts, in the order of their ranks."""
    root = (await asyncio.to_thread(locate, context.workspace, ".")).root
    command = ["--files", "--null", *hidden(root, context.state_root)]
    best = Best((asked.page + 1) * asked.max_results)
    is_complete = False
    try:
        async with (
            asyncio.timeout(_WALK_BUDGET.total_seconds()),
            searching(root, command) as process,
            aclosing(records(process, b"\0", _LONGEST_PATH)) as names,
        ):
            async for name in names:
                candidate = rank(os.fsdecode(name)) if name else None
                if candidate is not None:
                    best.add(candidate)
        is_complete = True
    except TimeoutError:
        pass  # The page says that it is incomplete.
    chosen = best.result()[asked.page * asked.max_results :]
    return Page(tuple(path for _, _, path in chosen), best.count, is_complete)


def as_result(page: Page, asked: PageArguments, what: str) -> ToolResult:
    """Return *page* as text for the model; *what* names the question."""
    first = asked.page * asked.max_results
    rows: list[str] = []
    room = SEARCH_CHARACTERS
    for path in page.paths:
        row = listed(path)
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    last = first + len(rows)
    notes = [f"{first + 1}-{last} of {page.total} files" if rows else f"no file for {what}"]
    if len(rows) < len(page.paths):
        notes.append("the rest of this page does not fit; ask for fewer results per page")
    elif last < page.total:
        notes.append(f"next page {asked.page + 1}")
    if not page.is_complete:
        notes.append("the time was up: the answer is incomplete")
    details = {
        "paths": [readable(path) for path in page.paths],
        "total": page.total,
        "complete": page.is_complete,
    }
    return ToolResult("\n".join([*rows, f"[{'; '.join(notes)}]"]), details)


def labelled(text: str) -> str:
    """Return *text* as the label of a row."""
    return text if len(text) <= LABEL_CHARACTERS else f"{text[: LABEL_CHARACTERS - 3]}..."


def demand_line(text: str) -> None:
    """Refuse a question that no single line can answer.

    Raises:
        InvalidArguments: it is blank, or holds a newline or a NUL.
    """
    if not text.strip():
        raise InvalidArguments("The query is empty")
    if any(character in text for character in "\n\r\0"):
        raise InvalidArguments("A query cannot hold newlines or NUL; search for one line")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments("The query is not valid Unicode") from None
