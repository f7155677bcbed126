"""Break text into rows of a given width, by words and by terminal cells.

A row that another row follows never changes when more text arrives.  That lets a
stream hand finished rows to the scrollback and keep only its last row live.
"""

from collections.abc import Iterator

from rich.cells import cell_len, get_character_cell_size

TAB = "    "
NARROWEST = 2
"""A wide character must fit on a row."""


def wrap(text: str, width: int) -> list[str]:
    """Return the rows of *text*; its own line breaks are kept."""
    return [text[start:end] for start, end in spans(text, width)]


def spans(text: str, width: int) -> list[tuple[int, int]]:
    """Return where each row of *text* begins and ends."""
    width = max(width, NARROWEST)
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        found += [(start + a, start + b) for a, b in _line_spans(line, width)]
        start += len(line) + 1
    return found


def clipped(text: str, width: int) -> str:
    """Return the beginning of *text* in at most *width* cells, marked when it is cut."""
    if cell_len(text) <= width:
        return text
    end = _fitting(text, 0, max(width - 1, 0))
    return f"{text[:end]}…" if width > 0 else ""


def _line_spans(line: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the rows of one line.  Spaces at a break belong to no row."""
    start = 0
    while True:
        end = _fitting(line, start, width)
        if end == len(line):
            yield start, end
            return
        stop = _break_before(line, start, end)
        yield start, stop
        start = stop
        while start < len(line) and line[start] == " ":
            start += 1
        if start == len(line):
            return


def _break_before(line: str, start: int, end: int) -> int:
    """Return where the row that could reach *end* should stop."""
    if line[end] == " ":
        return end
    space = line.rfind(" ", start, end)
    # Spaces that open a row are indentation, no place to break.
    if space < 0 or not line[start:space].strip():
        return end
    return len(line[:space].rstrip(" "))


def _fitting(text: str, start: int, width: int) -> int:
    """Return the end of the longest run from *start* that fits in *width* cells."""
    cells = 0
    for place in range(start, len(text)):
        cells += get_character_cell_size(text[place])
        if cells > width:
            return place
    return len(text)
