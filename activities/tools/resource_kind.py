"""One kind of resource behind ``resource.read`` and ``resource.edit``."""

from typing import Any, Protocol

from pydantic import Field

from activities.tools.line_operations import Operation
from activities.tools.parameters import plain
from activities.tools.tool import Arguments, ToolContext, ToolResult
from workflows.policy.captures import READ_BYTES
from workflows.policy.resources import COLLECTION_RESULTS, LONGEST_WINDOW


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
    max_results: int | None = Field(default=None, ge=1, le=COLLECTION_RESULTS)


class EditArguments(Arguments):
    """What ``resource.edit`` takes."""

    uri: str
    base_revision: str = Field(description="the revision that resource.read returned")
    operations: tuple[Operation, ...] = Field(
        min_length=1, description="all refer to the lines of base-revision, and must not overlap"
    )

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the schema with every operation spelled out as an object."""
        return plain(super().model_json_schema(*args, **options))


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
