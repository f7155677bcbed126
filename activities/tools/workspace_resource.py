"""``workspace:`` resources: files and directories of the working directory.

A read takes one hop to a thread and one store write; an edit looks its revision up
before that.  The observation is recorded before the result is given, so that the next
call knows every revision that a result names.
"""

import asyncio
from collections.abc import Callable

from activities.errors import InvalidArguments, StaleRevision
from activities.store import observations
from activities.store.observations import Observation
from activities.tools.resource_kind import EditArguments, ReadArguments
from activities.tools.sighting import Scene, Sighting
from activities.tools.tool import ToolContext, ToolResult
from activities.tools.workspace_edit import edit_file
from activities.tools.workspace_view import view
from activities.workspace.names import SCHEME, decoded
from workflows.policy.resources import SNAPSHOT_BYTES


class WorkspaceResource:
    """Reads and edits the files of a conversation's workspace."""

    scheme = SCHEME

    async def read(
        self, identifier: str, arguments: ReadArguments, context: ToolContext
    ) -> ToolResult:
        """Return a numbered window, a listing, or the observation that nothing is there."""
        _refuse_foreign(arguments)
        scene = Scene.of(context)
        sighting = await asyncio.to_thread(view, scene, decoded(identifier), arguments)
        # An observation that a power failure takes away costs one more read.
        return await _given(sighting, scene, context, durable=False)

    async def edit(
        self, identifier: str, arguments: EditArguments, context: ToolContext
    ) -> ToolResult:
        """Apply all operations to the observed content and publish the result, or do nothing.

        Raises:
            StaleRevision: the file is not what was observed; the text says what it is.
        """
        scene = Scene.of(context)
        base = await _base(arguments, context)
        name = decoded(identifier)
        sighting = await _finished(lambda: edit_file(scene, name, base, arguments.operations))
        return await _given(sighting, scene, context, durable=True)


async def _finished(work: Callable[[], Sighting]) -> Sighting:
    """Run *work* in a thread.  A cancellation waits for it: nothing is written afterwards."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    finally:
        await asyncio.wait([task])


async def _base(arguments: EditArguments, context: ToolContext) -> Observation:
    revision = arguments.base_revision
    base = await context.database.read(
        lambda connection: observations.find(connection, context.key.conversation, revision)
    )
    if base is None or base.kind != SCHEME:
        raise StaleRevision(f"Revision {revision[:64]!r} is not known; read {arguments.uri} again")
    return base


async def _given(
    sighting: Sighting, scene: Scene, context: ToolContext, *, durable: bool
) -> ToolResult:
    """Record what was observed, drop what that evicted, and give the result."""
    seen = sighting.observation
    if seen is not None:
        recorded = await context.database.write(
            lambda tx: observations.record(tx, scene.conversation, seen, capacity=SNAPSHOT_BYTES),
            durable=durable,
        )
        if recorded.unreferenced:
            await asyncio.to_thread(scene.snapshots.drop, recorded.unreferenced)
    if isinstance(sighting.result, StaleRevision):
        raise sighting.result
    return sighting.result


def _refuse_foreign(arguments: ReadArguments) -> None:
    foreign = ("byte_offset", "byte_count", "query", "max_results")
    given = [name.replace("_", "-") for name in foreign if getattr(arguments, name) is not None]
    if given:
        raise InvalidArguments(f"{', '.join(given)} does not apply to {SCHEME}: resources")
