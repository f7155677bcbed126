"""Where each byte of a stream lies in its capture file.

A capture file never grows beyond its limit.  The first three quarters hold the
beginning of the stream and are written once.  The last quarter is a ring that always
holds the newest bytes, because the error is at the end:

    stream   0 ........ head | ......... lost ......... | newest ring bytes
    file     0 ........ head | ring, at head + (offset - head) % (limit - head)

As long as the stream fits, the file is simply the stream.
"""

RING_SHARE = 4
"""One byte in four of a capture is kept for the end."""
SMALLEST_LIMIT = RING_SHARE
CHUNK = 65_536
"""What the runner writes at once, so also what may be torn when it is killed."""

Range = tuple[int, int]


def head_of(limit: int) -> int:
    """Return how many bytes of the beginning stay for good."""
    return limit - limit // RING_SHARE


def spans(limit: int, start: int, end: int) -> list[Range]:
    """Return the file ranges that hold the stream's bytes from *start* to *end*."""
    head = head_of(limit)
    found: list[Range] = []
    while start < end:
        if start < head:
            place, room = start, head - start
        else:
            place = head + (start - head) % (limit - head)
            room = limit - place
        length = min(room, end - start)
        found.append((place, place + length))
        start += length
    return found


def retained(limit: int, written: int, *, torn: int = 0) -> list[Range]:
    """Return the stream ranges that the file still holds after *written* bytes.

    The *torn* oldest bytes of the ring are not trusted: a runner that still writes, or
    that was killed, may have written over them before it counted.
    """
    head = head_of(limit)
    if written <= max(head, limit - torn):
        return [(0, written)] if written else []
    oldest = max(head, written - (limit - head) + torn)
    if oldest == head:
        return [(0, written)]
    return [(0, head), (oldest, written)] if oldest < written else [(0, head)]
