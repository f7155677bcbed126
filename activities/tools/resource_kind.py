"""One kind of resource behind ``resource.read`` and ``resource.edit``."""

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import Field

from activities.tools.tool import Arguments, ToolContext, ToolResult
from workflows.policy.captures import READ_BYTES

DEFAULT_LINES = 400
"""line-count: default 400 (domain reference 5.2),"""
LONGEST_WINDOW = 1_000
"""at most 1,000."""


class ReadArguments(Arguments):
    """What ``resource.read`` takes; each kind uses its own part."""

    uri: str = Field(description="scheme:identifier, for example workspace:src/main.py")
    start_line: int | None = Field(default=None, ge=1, description="first line, from 1")
    line_count: int | None = Field(
        default=None, ge=1, le=LONGEST_WINDOW, description="how many lines (default 400)"
    )
    byte_offset: int | None = Field(default=None, ge=0, description="shell-log: zero-based")
    byte_count: int | None = Field(
        default=None, ge=1, le=READ_BYTES, description="shell-log: default and maximum 4096"
    )
    query: str | None = Field(default=None, min_length=1, description="shell-log: literal search")
    max_results: int | None = Field(default=None, ge=1, le=50)


class EditArguments(Arguments):
    """What ``resource.edit`` takes."""

    uri: str
    base_revision: str = Field(description="the revision that resource.read returned")
    operations: tuple[Mapping[str, Any], ...] = Field(min_length=1)


class ResourceKind(Protocol):
    """Reads and edits everything below one URI scheme."""

    scheme: str

    async def read(
        self, identifier: str, arguments: ReadArguments, context: ToolContext
    ) -> ToolResult:
        """Return what is there, bounded, with a revision where it can be edited."""
        ...

    async def edit(
        self, identifier: str, arguments: EditArguments, context: ToolContext
    ) -> ToolResult:
        """Apply all operations to the observed revision, or none.

        Raises:
            OperationUnsupported: this kind is read-only.
            StaleRevision: the resource has changed since it was observed.
        """
        ...
