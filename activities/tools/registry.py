"""The tools of a session, by name."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from activities.errors import InvalidArguments, UnknownTool
from activities.tools.tool import Arguments, Tool
from workflows.contracts.tool import ToolDeclaration

AnyTool = Tool[Any]

MOST_REASONS = 5
"""How many faults of an argument object are listed."""


class ToolRegistry:
    """Every tool that may be called here."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        # Sorted, because a stable order keeps the provider's prompt cache warm.
        self.declarations: tuple[ToolDeclaration, ...] = tuple(
            self._tools[name].declaration() for name in sorted(self._tools)
        )

    def resolve(self, name: str) -> AnyTool:
        """Return the tool called *name*; a bare name does if only one tool has it.

        Raises:
            UnknownTool: there is none, or the bare name fits several (5.1).
        """
        if name in self._tools:
            return self._tools[name]
        fitting = sorted(known for known in self._tools if known.partition(".")[2] == name)
        if len(fitting) == 1:
            return self._tools[fitting[0]]
        hint = f"; did you mean {' or '.join(fitting)}?" if fitting else ""
        raise UnknownTool(f"{name[:64]}: there is no such tool{hint}")

    def parse(self, tool: AnyTool, arguments: str) -> Arguments:
        """Return the argument object of a call.

        Raises:
            InvalidArguments: the text is not one JSON object that fits the schema.
        """
        try:
            parsed: Arguments = tool.arguments.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
            reasons = [_reason(fault) for fault in error.errors()[:MOST_REASONS]]
            raise InvalidArguments(f"{tool.name}: {'; '.join(reasons)}") from None
        return parsed


def _reason(fault: Any) -> str:
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else str(fault["msg"])
