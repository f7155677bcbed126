"""``search.content``: find lines in the files of the workspace.

Plain and regular searches stream in the order of paths and stop at a full page, so a
later page begins at a file.  A fuzzy search ranks its candidates first.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from activities.errors import InvalidArguments
from activities.tools.match_page import MatchPage
from activities.tools.search_paths import demand_line, labelled
from activities.tools.tool import Arguments, Tool, ToolContext, ToolResult
from activities.workspace.constraints import Constraints, read_constraints
from activities.workspace.likeness import expressions, likeness
from activities.workspace.matches import FileMatches, MatchReader
from activities.workspace.paths import demand_public, locate
from activities.workspace.ripgrep import hidden, records, searching
from workflows.contracts.tool import EffectClass
from workflows.policy.searches import (
    DEFAULT_BUDGET_MS,
    DEFAULT_MATCHES_PER_FILE,
    DEFAULT_RESULTS,
    FUZZY_CANDIDATES,
    FUZZY_SIMILARITY,
    LONGEST_BUDGET_MS,
    LONGEST_QUERY,
    LONGEST_RECORD,
    MOST_CONTEXT,
    MOST_PATTERNS,
    MOST_RESULTS,
    SEARCHED_FILE_BYTES,
)


class Mode(StrEnum):
    """How a query is meant."""

    PLAIN = "plain"
    REGEX = "regex"
    FUZZY = "fuzzy"


class SearchContentArguments(Arguments):
    """What ``search.content`` takes."""

    query: str | None = Field(default=None, max_length=LONGEST_QUERY)
    patterns: tuple[str, ...] | None = Field(
        default=None, max_length=MOST_PATTERNS, description="instead of query: any of these texts"
    )
    mode: Mode = Field(default=Mode.PLAIN, description="how query is meant")
    constraints: str = Field(
        default="",
        max_length=LONGEST_QUERY,
        description="which files, for example: *.py src/ !tests/",
    )
    file_offset: int = Field(default=0, ge=0, description="how many matching files to skip")
    max_results: int = Field(default=DEFAULT_RESULTS, ge=1, le=MOST_RESULTS)
    max_matches_per_file: int = Field(default=DEFAULT_MATCHES_PER_FILE, ge=1, le=MOST_RESULTS)
    context: int = Field(default=0, ge=0, le=MOST_CONTEXT, description="lines around each match")
    time_budget_ms: int = Field(default=DEFAULT_BUDGET_MS, ge=1, le=LONGEST_BUDGET_MS)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is searched for."""
        return self.patterns or ((self.query,) if self.query is not None else ())


class SearchContent(Tool[SearchContentArguments]):
    """Finds matching lines, by file."""

    name = "search.content"
    description = (
        "Search the lines of files. The answer lists NUMBER:TEXT for each match and NUMBER-TEXT "
        "for context. A query in lower case ignores case. Respects .gitignore; binary files and "
        "files over 64 MiB are left out."
    )
    effect = EffectClass.OBSERVE
    arguments = SearchContentArguments

    async def run(self, arguments: SearchContentArguments, context: ToolContext) -> ToolResult:
        """Return one page of matches."""
        _demand_sense(arguments)
        root, constraints = await asyncio.to_thread(_read_place, context, arguments)
        page = MatchPage(
            arguments.max_results, arguments.max_matches_per_file, arguments.file_offset
        )
        command = [*_options(arguments), *constraints.options, *hidden(root, context.state_root)]
        try:
            async with asyncio.timeout(arguments.time_budget_ms / 1_000):
                files = _matches(root, command, constraints)
                if arguments.mode is Mode.FUZZY:
                    await _rank(files, arguments.query or "", page)
                else:
                    await _fill(files, page)
        except TimeoutError:
            page.shortfall = (
                f"the time budget of {arguments.time_budget_ms} ms was used up, so this is "
                "incomplete; narrow the constraints or raise time-budget-ms"
            )
        return page.as_result()

    def label(self, arguments: SearchContentArguments) -> str:
        """Return ``search QUERY``, with the constraints."""
        where = f" in {arguments.constraints}" if arguments.constraints else ""
        return labelled(f"search {' | '.join(arguments.texts)}{where}")


def _demand_sense(arguments: SearchContentArguments) -> None:
    if (arguments.query is None) == (arguments.patterns is None):
        raise InvalidArguments("Give exactly one of query and patterns")
    if arguments.patterns is not None and arguments.mode is not Mode.PLAIN:
        raise InvalidArguments(f"mode {arguments.mode} goes with query; patterns are plain texts")
    if arguments.mode is Mode.FUZZY and arguments.context:
        raise InvalidArguments("mode fuzzy ranks single lines and has no context")
    if not arguments.texts:
        raise InvalidArguments("patterns is empty")
    for text in arguments.texts:
        demand_line(text)


def _read_place(
    context: ToolContext, arguments: SearchContentArguments
) -> tuple[Path, Constraints]:
    root = locate(context.workspace, ".").root
    constraints = read_constraints(root, arguments.constraints)
    for place in constraints.directories:
        demand_public(place, context.state_root)
    return root, constraints


async def _matches(
    root: Path, command: list[str], constraints: Constraints
) -> AsyncGenerator[FileMatches, None]:
    """Yield every file with matches, in the order of paths; the last may be incomplete."""
    reader = MatchReader()
    async with (
        searching(root, [*command, "--", *constraints.paths]) as process,
        aclosing(records(process, b"\n", LONGEST_RECORD)) as found,
    ):
        async for record in found:
            file = reader.take(record)
            if file is not None and constraints.admits(file.path):
                yield file


def _options(arguments: SearchContentArguments) -> list[str]:
    texts = list(arguments.texts)
    options = ["--json", "--sort=path", "--crlf", f"--max-filesize={SEARCHED_FILE_BYTES}"]
    if arguments.mode is Mode.FUZZY:
        texts = expressions(texts[0])
        options += ["--ignore-case", f"--max-count={FUZZY_CANDIDATES}"]
    else:
        # One more than is shown tells whether there are more.
        options.append(f"--max-count={arguments.max_matches_per_file + 1}")
        options += ["--smart-case", f"--context={arguments.context}"]
    if arguments.mode is Mode.PLAIN:
        options.append("--fixed-strings")
    return options + [f"--regexp={text}" for text in texts]


async def _fill(files: AsyncGenerator[FileMatches, None], page: MatchPage) -> None:
    async with aclosing(files):
        async for file in files:
            if not page.add(file):
                return


async def _rank(files: AsyncGenerator[FileMatches, None], query: str, page: MatchPage) -> None:
    """Fill *page* with the files whose lines are most like *query*, best first."""
    ranked: list[tuple[float, FileMatches]] = []
    candidates = 0
    try:
        async with aclosing(files):
            async for file in files:
                candidates += file.count
                best = _alike(file, query)
                if best is not None:
                    ranked.append(best)
                if candidates >= FUZZY_CANDIDATES:
                    page.shortfall = f"only the first {candidates} candidates were ranked"
                    return
    finally:
        ranked.sort(key=lambda entry: (-entry[0], entry[1].path))
        for _, file in ranked:
            if not page.add(file):
                break


def _alike(file: FileMatches, query: str) -> tuple[float, FileMatches] | None:
    scored = [(likeness(query, row.found or ""), row) for row in file.rows]
    alike = [(score, row) for score, row in scored if score >= FUZZY_SIMILARITY]
    if not alike:
        return None
    rows = [row for _, row in alike]
    return max(score for score, _ in alike), FileMatches(file.path, rows)
