"""``shell-log:``: what a command wrote, long after it ran and without running it again."""

from pathlib import Path
from typing import Any

from activities.errors import InvalidArguments, MissingResource, OperationUnsupported
from activities.shell.capture_reader import CaptureReader, Window
from activities.shell.captures import Capture, CaptureState, find
from activities.shell.decoding import decode
from activities.shell.ending import counts, describe_streams
from activities.shell.environment import redact
from activities.shell.invocation import executions_root
from activities.shell.log_reading import Search, read, search
from activities.tools.resource_kind import EditArguments, ReadArguments
from activities.tools.tool import ToolContext, ToolResult
from workflows.policy.captures import READ_BYTES, SEARCH_EXCERPTS, SEARCH_QUERY_BYTES


class ShellLog:
    """The captures of the conversation's own commands; nobody else's can be told to exist."""

    scheme = "shell-log"

    async def read(
        self, identifier: str, arguments: ReadArguments, context: ToolContext
    ) -> ToolResult:
        """Return a window of a capture, or the places where a text occurs in it."""
        execution, _, stream = identifier.partition("/")
        capture = await context.database.read(lambda connection: find(connection, execution))
        if capture is None or capture.conversation != context.key.conversation:
            raise MissingResource(f"shell-log:{identifier}: there is no such capture")
        name = _stream(capture, stream)
        root = executions_root(context.state_root)
        reader = _reader(capture, name, root)
        figures = describe_streams(capture, root)[list(capture.streams).index(name)]
        head = f"{capture.uri(name)}: {counts(figures)}{_remark(capture)}"
        if arguments.query is None:
            return _window(head, reader, arguments, figures)
        return _found(head, reader, arguments, figures)

    async def edit(
        self,
        identifier: str,
        arguments: EditArguments,  # noqa: ARG002 -- the protocol of resource kinds
        context: ToolContext,  # noqa: ARG002 -- the protocol of resource kinds
    ) -> ToolResult:
        """Refuse: a capture is evidence."""
        raise OperationUnsupported(f"shell-log:{identifier} is read-only")


def _stream(capture: Capture, named: str) -> str:
    """Return the stream that *named* means."""
    uris = [capture.uri(name) for name in capture.streams]
    for name, uri in zip(capture.streams, uris, strict=True):
        if uri == f"shell-log:{capture.execution}" + (f"/{named}" if named else ""):
            return name
    raise MissingResource(f"This capture is read as {' or '.join(uris)}")


def _reader(capture: Capture, name: str, root: Path) -> CaptureReader:
    reader = capture.reader(root, name)
    if capture.state is CaptureState.PRUNED:
        raise MissingResource(f"{capture.uri(name)} was pruned by retention; what it held is gone")
    if not reader.path.exists():
        if capture.state is CaptureState.ACTIVE:
            raise MissingResource(f"{capture.uri(name)}: nothing is captured yet")
        raise MissingResource(f"{capture.uri(name)}: its file is missing on this machine")
    return reader


def _remark(capture: Capture) -> str:
    if capture.state is CaptureState.ACTIVE:
        return "; the command still runs"
    if capture.state is CaptureState.INTERRUPTED:
        return "; the command was interrupted, and what followed is unknown"
    return ""


def _window(
    head: str, reader: CaptureReader, arguments: ReadArguments, figures: dict[str, Any]
) -> ToolResult:
    offset = arguments.byte_offset or 0
    window = read(reader, offset, arguments.byte_count or READ_BYTES)
    details = {**figures, "offset": window.start, "next_offset": _next(window, figures)}
    lines = [head, _place(window, details["next_offset"])]
    if window.data:
        lines.append(redact(decode(window.data)))
    return ToolResult("\n".join(lines), details)


def _next(window: Window, figures: dict[str, Any]) -> int | None:
    if window.lost_until is not None:
        return window.lost_until
    return window.end if window.end < figures["observed"] and window.data else None


def _place(window: Window, following: int | None) -> str:
    if window.lost_until is not None:
        return (
            f"Bytes {window.start} to {window.lost_until - 1} were not retained; "
            f"go on at byte-offset {window.lost_until}."
        )
    if not window.data:
        return f"There is nothing at byte {window.start}."
    more = "the end" if following is None else f"go on at byte-offset {following}"
    return f"Bytes {window.start} to {window.end - 1}; {more}."


def _found(
    head: str, reader: CaptureReader, arguments: ReadArguments, figures: dict[str, Any]
) -> ToolResult:
    query = (arguments.query or "").encode()
    if len(query) > SEARCH_QUERY_BYTES:
        raise InvalidArguments(f"query: at most {SEARCH_QUERY_BYTES} bytes")
    offset = arguments.byte_offset or 0
    found = search(reader, query, offset, arguments.max_results or SEARCH_EXCERPTS)
    lines = [f"{match.offset}: {match.excerpt}" for match in found.matches]
    details = {
        **figures,
        "offsets": [match.offset for match in found.matches],
        "next_offset": found.next_offset,
    }
    return ToolResult(redact("\n".join([head, _summary(found, offset), *lines])), details)


def _summary(found: Search, offset: int) -> str:
    count = len(found.matches)
    places = "1 place" if count == 1 else f"{count} places"
    more = (
        "searched to the end"
        if found.next_offset is None
        else f"go on with byte-offset {found.next_offset}"
    )
    return f"Found in {places} from byte {offset} on; {more}."
