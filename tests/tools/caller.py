"""Calls tools as a conversation does: JSON arguments, a real store, real files."""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from activities.store.database import Database
from activities.store.objects import ObjectDirectory
from activities.tools.resource import ResourceEdit, ResourceRead
from activities.tools.tool import Tool, ToolContext, ToolResult
from activities.tools.workspace_resource import WorkspaceResource
from workflows.contracts.key import CallKey

KINDS = {"workspace": WorkspaceResource()}


class Caller:
    """One conversation in one workspace."""

    def __init__(self, root: Path, *, conversation: str = "c", workspace: Path | None = None):
        self.root = root
        self.workspace = workspace or root / "ws"
        self.workspace.mkdir(exist_ok=True)
        self.conversation = conversation
        self.database = Database.open(f"sqlite:///{_store_in(root)}")
        self.objects = ObjectDirectory(root / "objects")
        self.state_root = root / "state"
        self._ordinal = 0

    def context(self, ordinal: int | None = None) -> ToolContext:
        """Return the context of a new call, or of a new attempt of the call *ordinal*."""
        if ordinal is None:
            self._ordinal += 1
            ordinal = self._ordinal
        key = CallKey(conversation=self.conversation, turn=1, request=1, ordinal=ordinal)
        return ToolContext(
            key=key,
            workspace=self.workspace,
            database=self.database,
            objects=self.objects,
            state_root=self.state_root,
        )

    async def call(self, tool: Tool[Any], ordinal: int | None = None, **given: Any) -> ToolResult:
        """Run *tool* with the arguments *given*; ``_`` stands for ``-``."""
        text = json.dumps({name.replace("_", "-"): value for name, value in given.items()})
        arguments = tool.arguments.model_validate_json(text)
        assert tool.label(arguments)
        return await tool.run(arguments, self.context(ordinal))

    async def read(self, path: str, **given: Any) -> ToolResult:
        """Read ``workspace:path``."""
        return await self.call(ResourceRead(KINDS), uri=f"workspace:{path}", **given)

    async def revision(self, path: str, **given: Any) -> str:
        """Read ``workspace:path`` and return its revision."""
        return str((await self.read(path, **given)).details["revision"])

    async def edit(
        self,
        path: str,
        revision: str,
        *operations: dict[str, Any],
        ordinal: int | None = None,
    ) -> ToolResult:
        """Edit ``workspace:path``."""
        tool = ResourceEdit(KINDS)
        return await self.call(
            tool,
            ordinal,
            uri=f"workspace:{path}",
            base_revision=revision,
            operations=list(operations),
        )

    async def change(self, path: str, *operations: dict[str, Any]) -> ToolResult:
        """Read and edit ``workspace:path``."""
        return await self.edit(path, await self.revision(path), *operations)

    def restart(self) -> None:
        """Do what a new worker does: open everything again."""
        self.database.close()
        self.database = Database.open(self.database.url)
        self.objects = ObjectDirectory(self.objects.root)


def _store_in(root: Path) -> Path:
    """Return the path of a store, made from a copy: migrating takes longer than most tests."""
    path = root / "store.db"
    if not path.exists():
        path.write_bytes(_empty_store())
    return path


@cache
def _empty_store() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "store.db"
        Database.open(f"sqlite:///{path}").close()
        return path.read_bytes()


def replace(first: int, last: int, text: str) -> dict[str, Any]:
    """Return a replace-lines operation."""
    return {"operation": "replace-lines", "start-line": first, "end-line": last, "text": text}


def delete(first: int, last: int) -> dict[str, Any]:
    """Return a delete-lines operation."""
    return {"operation": "delete-lines", "start-line": first, "end-line": last}


def before(line: int, text: str) -> dict[str, Any]:
    """Return an insert-before operation."""
    return {"operation": "insert-before", "line": line, "text": text}


def after(line: int, text: str) -> dict[str, Any]:
    """Return an insert-after operation."""
    return {"operation": "insert-after", "line": line, "text": text}


def fill(text: str) -> dict[str, Any]:
    """Return a replace-empty operation."""
    return {"operation": "replace-empty", "text": text}
