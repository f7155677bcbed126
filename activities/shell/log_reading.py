"""Read a capture by offset, or search it for a literal text."""

from dataclasses import dataclass

from activities.shell.capture_reader import CaptureReader, Window
from activities.shell.decoding import LONGEST_CHARACTER, character_start, decode, unfinished
from workflows.policy.captures import EXCERPT_BYTES, SEARCH_EXCERPTS, SEARCH_SCAN_BYTES


@dataclass(frozen=True)
class Match:
    """One place where the text was found, and the line around it."""

    offset: int
    excerpt: str


@dataclass(frozen=True)
class Search:
    """What one search found, and where the next one goes on; None at the end."""

    matches: tuple[Match, ...]
    next_offset: int | None


def read(stream: CaptureReader, offset: int, count: int) -> Window:
    """Return about *count* bytes from *offset* on, in whole characters.

    Following ``end`` from window to window shows every character exactly once.
    """
    first, last = _range_around(stream, offset)
    if first == last:
        return stream.window(offset, count)
    before = min(LONGEST_CHARACTER - 1, offset - first)
    data = stream.window(offset - before, before + count + LONGEST_CHARACTER - 1).data
    start = character_start(data, before)
    end = _character_end(data, before + count, floor=start)
    is_growing = stream.final is None and last == stream.figures().written
    if end == len(data) and is_growing:
        # The rest of the character may just not have arrived.
        arrived = end - unfinished(data[start:end])
        end = arrived if arrived > start else end
    return Window(offset - before + start, data[start:end])


def _range_around(stream: CaptureReader, offset: int) -> tuple[int, int]:
    for first, last in stream.retained():
        if first <= offset < last:
            return first, last
    return offset, offset


def search(stream: CaptureReader, query: bytes, offset: int, limit: int) -> Search:
    """Find *query* from *offset* on, in at most 1 MiB and at most 20 excerpts."""
    wanted = min(limit, SEARCH_EXCERPTS)
    scanned = stream.window(offset, SEARCH_SCAN_BYTES)
    if scanned.lost_until is not None:
        scanned = stream.window(scanned.lost_until, SEARCH_SCAN_BYTES)
    matches: list[Match] = []
    behind = 0
    at = scanned.data.find(query)
    while at >= 0:
        if len(matches) == wanted:
            return Search(tuple(matches), scanned.start + at)
        matches.append(Match(scanned.start + at, _excerpt(scanned.data, at, len(query))))
        behind = at + len(query)
        at = scanned.data.find(query, behind)
    if scanned.end >= stream.figures().written:
        return Search(tuple(matches), None)
    # A match may lie across the edge of two scans.
    edge = max(behind, len(scanned.data) - len(query) + 1, 0)
    if _range_around(stream, scanned.end) == (scanned.end, scanned.end):
        edge = len(scanned.data)
    return Search(tuple(matches), scanned.start + edge)


def _excerpt(data: bytes, at: int, length: int) -> str:
    """Return the line of a match, cut to what is close to it."""
    start = max(data.rfind(b"\n", 0, at) + 1, at - EXCERPT_BYTES)
    newline = data.find(b"\n", at + length)
    end = min(len(data) if newline < 0 else newline, at + length + EXCERPT_BYTES)
    start = character_start(data, start)
    return decode(data[start : _character_end(data, end, floor=start)]).rstrip("\r")


def _character_end(data: bytes, index: int, *, floor: int) -> int:
    """Return *index*, or where the character that it cuts begins; past it at the *floor*."""
    if index >= len(data):
        return len(data)
    start = character_start(data, index)
    if start > floor or start == index:
        return start
    end = index
    while end < len(data) and character_start(data, end) == start:
        end += 1
    return end
