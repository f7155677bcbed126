"""``resource.edit`` of a workspace file: plan on the observed content, then publish.

The base content and the operations determine the result.  So a file that already has
the result was edited by a lost attempt of the same call, and a file with neither is
stale: nothing is written, and the answer shows what changed in between.
"""

from collections.abc import Sequence

from activities.errors import (
    AccessDenied,
    CorruptObjectError,
    OperationUnsupported,
    StaleRevision,
    ToolError,
)
from activities.store.observations import Observation
from activities.tools.edit_plan import Plan, plan
from activities.tools.line_operations import Operation
from activities.tools.sighting import Scene, Sighting
from activities.tools.tool import ToolResult
from activities.workspace.changes import difference, hunks, unified
from activities.workspace.directory import Listing
from activities.workspace.excerpts import excerpts, shows_all
from activities.workspace.lines import kept, parse, written
from activities.workspace.paths import Place
from activities.workspace.publication import publish
from activities.workspace.ranges import merged, within
from activities.workspace.revision import MISSING, Snapshot, digest_of
from activities.workspace.sight import look
from workflows.policy.resources import (
    DIFF_CHARACTERS,
    FILE_BYTES,
    HUNK_CHARACTERS,
    STALE_CHARACTERS,
)


def edit_file(
    scene: Scene, name: str, base: Observation, operations: Sequence[Operation]
) -> Sighting:
    """Apply *operations* to the content that *base* observed, and publish the result.

    Raises:
        AccessDenied: the path may not be edited.
        InvalidArguments: an operation does not fit the observed lines.
        PublicationFailed: the system refused to write.
    """
    place = _editable(scene, name, base)
    present = _present(place)
    if present.digest != base.digest:
        done = _done(scene, base, operations, present)
        if done is None:
            return _stale(scene, place, base, present)
        return _edited(scene, place, base, done, ("the file already had this content",))
    planned = plan(present.content, base.shown, operations)
    if planned.content == present.content:
        return _edited(scene, place, base, planned, ("nothing changed",))
    scene.keep(place, present, ())
    try:
        notes = publish(place, planned.content, base=base.digest, key=scene.key)
    except StaleRevision:
        return _stale(scene, place, base, _present(place))
    return _edited(scene, place, base, planned, notes)


def _editable(scene: Scene, name: str, base: Observation) -> Place:
    place = scene.locate(name)
    if place.is_repository_data:
        raise AccessDenied(f"{place} belongs to Git; change it with git through shell.run")
    if base.uri != place.identity:
        raise StaleRevision(f"The revision is of another resource; read {place.uri} first")
    return place


def _present(place: Place) -> Snapshot:
    sight = look(place, 1, 1, 1)
    if isinstance(sight, Listing):
        raise OperationUnsupported(f"{place} is a directory, and those are read-only")
    if not isinstance(sight, Snapshot):
        raise OperationUnsupported(f"{place} is larger than {FILE_BYTES} bytes")
    return sight


def _done(
    scene: Scene, base: Observation, operations: Sequence[Operation], present: Snapshot
) -> Plan | None:
    """Return the plan whose result the file already has, if that is how it is."""
    before = _observed(scene, base)
    try:
        planned = plan(before.content, base.shown, operations) if before else None
    except ToolError:
        return None  # An edit that does not fit its base was never made.
    if planned is None or digest_of(planned.content) != present.digest:
        return None
    return planned


def _observed(scene: Scene, base: Observation) -> Snapshot | None:
    """Return the content that *base* saw, unless it is gone."""
    if base.digest == MISSING:
        return Snapshot(None)
    try:
        return Snapshot(scene.snapshots.get(base.digest))
    except CorruptObjectError:
        return None  # Dropped with an evicted revision of the same content.


def _edited(
    scene: Scene, place: Place, base: Observation, done: Plan, notes: Sequence[str]
) -> Sighting:
    parts = hunks(done.before.lines, done.splices)
    excerpt, shown = excerpts(done.after.lines, parts, HUNK_CHARACTERS)
    total = len(done.after.lines)
    known = merged(
        kept(base.shown, done.splices, len(done.before.lines)) + written(done.splices) + shown
    )
    observation = scene.keep(place, Snapshot(done.content), within(known, 1, total))
    revision = scene.revision(observation)
    head = f"{place.uri} is now revision {revision}, {total} lines"
    rows = [head, excerpt, *(f"[{note}]" for note in notes)]
    details = {
        "path": str(place),
        "revision": revision,
        "diff": unified(str(place), parts, DIFF_CHARACTERS),
        "added": sum(len(splice.lines) for splice in done.splices),
        "removed": sum(splice.last - splice.first + 1 for splice in done.splices),
    }
    return Sighting(ToolResult("\n".join(filter(None, rows)), details), observation)


def _stale(scene: Scene, place: Place, base: Observation, present: Snapshot) -> Sighting:
    """Refuse, and show the way on: the present revision and what is different in it."""
    before = _observed(scene, base)
    old, new = parse((before and before.content) or b""), parse(present.content or b"")
    splices = difference(old.lines, new.lines)
    parts = hunks(old.lines, splices)
    excerpt, shown = excerpts(new.lines, parts, STALE_CHARACTERS)
    known = merged(kept(base.shown, splices, len(old.lines)) + shown) if before else ()
    observation = scene.keep(place, present, known)
    text = (
        f"{place} has changed since {scene.revision(base)}, so nothing was edited. "
        f"Its present revision is {scene.revision(observation)}"
    )
    if present.content is None:
        text += ": nothing is there any more."
    elif before and excerpt and shows_all(parts, shown):
        text += (
            f"; read it again, or go on from there if these changes are all you need:\n{excerpt}"
        )
    else:
        text += "; read it again."
    return Sighting(StaleRevision(text), observation)
