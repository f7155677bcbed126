"""``resource.read`` of a workspace path, as text for the model."""

from activities.errors import InvalidArguments
from activities.tools.resource_kind import ReadArguments
from activities.tools.sighting import Scene, Sighting
from activities.tools.tool import ToolResult
from activities.workspace.directory import Listing
from activities.workspace.lines import FileText, parse
from activities.workspace.paths import Place
from activities.workspace.revision import Snapshot
from activities.workspace.sight import LargeFile, look
from activities.workspace.window import Window, numbered
from workflows.policy.resources import DEFAULT_LINES, READ_CHARACTERS

_NOTE_ROOM = 400
"""Characters kept free for the notes under the rows."""


def view(scene: Scene, name: str, arguments: ReadArguments) -> Sighting:
    """Return what is at *name* now.

    Raises:
        AccessDenied: it is outside of the workspace, or may not be read.
        InvalidArguments: the window begins after the end.
    """
    place = scene.locate(name)
    first = arguments.start_line or 1
    budget = READ_CHARACTERS - _NOTE_ROOM - len(place.uri)
    sight = look(place, first, arguments.line_count, budget)
    if isinstance(sight, Listing):
        return Sighting(_directory(place, sight, first, budget))
    if isinstance(sight, LargeFile):
        return Sighting(_large(place, sight, first))
    if sight.content is None:
        return _missing(scene, place, sight)
    return _file(scene, place, sight, first, arguments.line_count or DEFAULT_LINES, budget)


def _missing(scene: Scene, place: Place, absent: Snapshot) -> Sighting:
    observation = scene.keep(place, absent, ())
    revision = scene.revision(observation)
    text = f"{place.uri} revision {revision}: nothing is there; replace-empty creates it"
    details = {"path": str(place), "revision": revision, "exists": False}
    return Sighting(ToolResult(text, details), observation)


def _file(
    scene: Scene, place: Place, present: Snapshot, first: int, count: int, budget: int
) -> Sighting:
    text = parse(present.content or b"")
    total = len(text.lines)
    _demand_line(place, first, total)
    window = numbered(text.lines[first - 1 : first - 1 + count], first, budget)
    observation = scene.keep(place, present, ((window.first, window.last),))
    revision = scene.revision(observation)
    span = f"lines {_span(window)} of {total}" if total else "is empty; replace-empty fills it"
    rows = [f"{place.uri} revision {revision} {span}", window.text, *_notes(text, window)]
    details = {
        "path": str(place),
        "revision": revision,
        "first": window.first,
        "last": window.last,
        "total": total,
    }
    return Sighting(ToolResult("\n".join(filter(None, rows)), details), observation)


def _notes(text: FileText, window: Window) -> list[str]:
    notes = []
    total = len(text.lines)
    if window.is_cut:
        length = len(text.lines[window.last])
        notes.append(
            f"line {window.last + 1} is shown in part ({length} characters): not editable"
        )
    if window.next_line <= total:
        left = total - window.next_line + 1
        notes.append(f"{left} more lines; read on with start-line {window.next_line}")
    elif total and not text.is_terminated:
        notes.append("no newline at the end of the file")
    if text.obstacle:
        notes.append(f"cannot be edited here: it {text.obstacle}")
    elif text.ending == "\r\n":
        notes.append("the lines end in CRLF, which edits keep; give text with plain newlines")
    return [f"[{note}]" for note in notes]


def _large(place: Place, sight: LargeFile, first: int) -> ToolResult:
    window = sight.window
    if not window.text:
        raise InvalidArguments(f"{place} has no line {first}")
    rows = [
        f"{place.uri} {sight.size} bytes, too large to edit, lines {_span(window)}",
        window.text,
    ]
    if window.is_cut:
        rows.append(f"[line {window.last + 1} is shown in part]")
    rows.append(f"[read on with start-line {window.next_line}]")
    details = {"path": str(place), "first": window.first, "last": window.last, "size": sight.size}
    return ToolResult("\n".join(rows), details)


def _directory(place: Place, sight: Listing, first: int, budget: int) -> ToolResult:
    _demand_line(place, first, sight.total)
    rows: list[str] = []
    for row in sight.rows:
        budget -= len(row) + 1
        if budget < 0:
            break
        rows.append(row)
    last = first + len(rows) - 1
    head = f"{place.uri} directory, entries {first}-{last} of {sight.total}"
    if not sight.total:
        head = f"{place.uri} directory, empty"
    tail = []
    if last < sight.total:
        tail = [f"[{sight.total - last} more entries; read on with start-line {last + 1}]"]
    details = {"path": str(place), "directory": True, "total": sight.total}
    return ToolResult("\n".join([head, *rows, *tail]), details)


def _demand_line(place: Place, first: int, total: int) -> None:
    if first > max(total, 1):
        raise InvalidArguments(f"{place} ends at line {total}; there is no line {first}")


def _span(window: Window) -> str:
    last = window.last + 1 if window.is_cut else window.last
    return f"{window.first}-{last}"
