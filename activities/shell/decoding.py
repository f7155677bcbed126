"""Bytes as text: invalid ones become U+FFFD, and no character is cut in two (A-20)."""

import codecs

LONGEST_CHARACTER = 4
_CONTINUATION = range(0x80, 0xC0)


def decode(data: bytes) -> str:
    """Return *data* as text that every store and terminal can take."""
    # PostgreSQL has no way to store a NUL in text.
    return data.decode("utf-8", errors="replace").replace("\0", "�")


def character_start(data: bytes, index: int) -> int:
    """Return where the character begins whose bytes include *index*."""
    for start in range(index, max(index - LONGEST_CHARACTER, -1), -1):
        if start >= len(data) or data[start] not in _CONTINUATION:
            whole = start < len(data) and _length(data, start) > index - start
            return start if whole else index
    return index


def unfinished(data: bytes) -> int:
    """Return how many bytes at the end begin a character that goes on behind it."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(data[-LONGEST_CHARACTER:])
    return len(decoder.getstate()[0])


def _length(data: bytes, start: int) -> int:
    """Return the length of the valid character at *start*, or 1."""
    for length in range(2, LONGEST_CHARACTER + 1):
        try:
            data[start : start + length].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return length if data[start] > 0x7F else 1  # noqa: PLR2004 -- ASCII ends here
    return 1
