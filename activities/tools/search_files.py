"""``search.files``: find files whose path one half remembers."""

from pydantic import Field

from activities.tools.search_paths import PageArguments, as_result, demand_line, labelled, walk
from activities.tools.tool import Tool, ToolContext, ToolResult
from activities.workspace.closeness import Wanted
from workflows.contracts.tool import EffectClass
from workflows.policy.searches import LONGEST_QUERY


class SearchFilesArguments(PageArguments):
    """What ``search.files`` takes."""

    query: str = Field(max_length=LONGEST_QUERY, description="words of the path, in any order")


class SearchFiles(Tool[SearchFilesArguments]):
    """Ranks the files of the workspace by how well their path fits a query."""

    name = "search.files"
    description = (
        "Find files by path, fuzzily and best first: words, beginnings, letters in order and "
        "small misspellings fit. Respects .gitignore."
    )
    effect = EffectClass.OBSERVE
    arguments = SearchFilesArguments

    async def run(self, arguments: SearchFilesArguments, context: ToolContext) -> ToolResult:
        """Return one page of paths."""
        demand_line(arguments.query)
        page = await walk(context, arguments, Wanted(arguments.query).rank)
        return as_result(page, arguments, repr(arguments.query))

    def label(self, arguments: SearchFilesArguments) -> str:
        """Return ``find files QUERY``."""
        return labelled(f"find files {arguments.query}")
