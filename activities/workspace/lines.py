"""The lines of a file, and edits that leave everything else byte for byte.

Only LF and CRLF end a line.  A file keeps its own ending, its final newline or
the lack of one, and its byte order mark; a file with both endings, or with bytes
that are not UTF-8 text, can be shown but not edited.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activities.errors import InvalidArguments
from activities.workspace.ranges import Ranges, merged, moved, within

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class FileText:
    """A file as lines, with all that is needed to write it back exactly."""

    lines: tuple[str, ...]
    ending: str = "\n"
    is_terminated: bool = True
    """Whether the last line has an ending."""
    has_mark: bool = False
    """Whether a byte order mark comes first."""
    obstacle: str | None = None
    """Why it cannot be edited."""

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        text = self.ending.join(self.lines)
        if self.lines and self.is_terminated:
            text += self.ending
        return (codecs.BOM_UTF8 if self.has_mark else b"") + text.encode()


@dataclass(frozen=True)
class Splice:
    """Put *lines* in the place of the lines from *first* to *last*.

    With *last* just before *first* nothing is removed.
    """

    first: int
    last: int
    lines: tuple[str, ...]


def parse(content: bytes) -> FileText:
    """Return *content* as lines; what cannot be decoded becomes U+FFFD."""
    body = content.removeprefix(codecs.BOM_UTF8)
    try:
        text, obstacle = body.decode(), _obstacle(body)
    except UnicodeDecodeError:
        text, obstacle = body.decode(errors="replace"), "is not UTF-8 text"
    # A NUL means binary content, and no database keeps one inside a text.
    text = text.replace("\0", REPLACEMENT)
    is_crlf = b"\r\n" in body
    *pieces, rest = text.split("\n")
    if is_crlf:
        pieces = [piece.removesuffix("\r") for piece in pieces]
    is_terminated = rest == ""
    return FileText(
        lines=tuple(pieces) if is_terminated else (*pieces, rest),
        ending="\r\n" if is_crlf else "\n",
        is_terminated=is_terminated,
        has_mark=len(body) != len(content),
        obstacle=obstacle,
    )


def given_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a *text* that a call gives; one final newline is optional.

    Raises:
        InvalidArguments: it cannot be text of a file.
    """
    demand_text(text)
    pieces = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if any("\r" in piece for piece in pieces):
        raise InvalidArguments("The text holds a carriage return that does not end a line")
    return tuple(pieces)


def demand_text(text: str) -> None:
    """Refuse what no text file can hold.

    Raises:
        InvalidArguments: a NUL, or half of a surrogate pair.
    """
    if "\0" in text:
        raise InvalidArguments("The text holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments("The text is not valid Unicode") from None


def ordered(splices: Iterable[Splice], total: int) -> tuple[Splice, ...]:
    """Return *splices* by place; those that insert at one place keep their order.

    Raises:
        InvalidArguments: two overlap, or one reaches past the *total* lines.
    """
    result = tuple(sorted(splices, key=lambda splice: (splice.first, splice.last)))
    reached = 0
    for splice in result:
        if splice.first <= reached:
            raise InvalidArguments(f"Two operations overlap at line {splice.first}")
        if splice.last > total:
            raise InvalidArguments(f"Line {splice.last} does not exist; the file has {total}")
        reached = splice.last
    return result


def spliced(text: FileText, splices: Sequence[Splice]) -> FileText:
    """Return *text* with *splices* (ordered) applied in one pass."""
    lines: list[str] = []
    position = 0
    for splice in splices:
        lines += text.lines[position : splice.first - 1]
        lines += splice.lines
        position = splice.last
    lines += text.lines[position:]
    changed = FileText(tuple(lines), text.ending, text.is_terminated, text.has_mark)
    # An unterminated file that now ends in an empty line ends in a newline instead.
    return parse(changed.as_bytes())


def kept(shown: Ranges, splices: Sequence[Splice], total: int) -> Ranges:
    """Return where the lines of *shown* are after *splices*, without those replaced."""
    ranges: list[tuple[int, int]] = []
    position, distance = 1, 0
    for splice in splices:
        ranges += moved(within(shown, position, splice.first - 1), distance)
        position = splice.last + 1
        distance += len(splice.lines) - (splice.last - splice.first + 1)
    ranges += moved(within(shown, position, total), distance)
    return merged(ranges)


def written(splices: Sequence[Splice]) -> Ranges:
    """Return where the lines of *splices* are after they were applied."""
    ranges: list[tuple[int, int]] = []
    distance = 0
    for splice in splices:
        start = splice.first + distance
        ranges.append((start, start + len(splice.lines) - 1))
        distance += len(splice.lines) - (splice.last - splice.first + 1)
    return merged(ranges)


def _obstacle(body: bytes) -> str | None:
    if b"\0" in body:
        return "is binary"
    crlf = body.count(b"\r\n")
    lf = body.count(b"\n") - crlf
    if crlf and lf:
        return f"has mixed line endings ({crlf} CRLF, {lf} LF)"
    if b"\r" in body and not crlf and not lf:
        return "has only carriage returns as line endings"
    return None
