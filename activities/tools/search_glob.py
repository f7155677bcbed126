"""``search.glob``: list files by pattern."""

from pydantic import Field

from activities.tools.search_paths import PageArguments, as_result, demand_line, labelled, walk
from activities.tools.tool import Tool, ToolContext, ToolResult
from activities.workspace.closeness import Rank
from activities.workspace.globs import read_glob
from workflows.contracts.tool import EffectClass
from workflows.policy.searches import LONGEST_QUERY


class SearchGlobArguments(PageArguments):
    """What ``search.glob`` takes."""

    pattern: str = Field(
        max_length=LONGEST_QUERY,
        description="*.py at any depth, src/*.py there, src/**/*.{c,h} below",
    )


class SearchGlob(Tool[SearchGlobArguments]):
    """Lists the files of the workspace that fit a glob pattern, by path."""

    name = "search.glob"
    description = "List files that match a glob pattern, sorted by path. Respects .gitignore."
    effect = EffectClass.OBSERVE
    arguments = SearchGlobArguments

    async def run(self, arguments: SearchGlobArguments, context: ToolContext) -> ToolResult:
        """Return one page of paths."""
        demand_line(arguments.pattern)
        glob = read_glob(arguments.pattern)

        def fitting(path: str) -> Rank | None:
            return (0, 0, path) if glob.matches(path) else None

        page = await walk(context, arguments, fitting)
        return as_result(page, arguments, repr(arguments.pattern))

    def label(self, arguments: SearchGlobArguments) -> str:
        """Return ``list PATTERN``."""
        return labelled(f"list {arguments.pattern}")
