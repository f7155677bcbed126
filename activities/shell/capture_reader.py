"""Read one captured stream, while it grows or long after.

Offsets are those of the stream, not of the file: what was lost in the middle keeps its
place, and a reader is told where the stream goes on.
"""

from dataclasses import dataclass
from pathlib import Path

from activities.shell import layout
from activities.shell.capture_writer import COUNT_BYTES
from activities.shell.outcome import StreamFigures

READ_AGAIN = 3
"""A live runner may be between the two halves of its count, or overtake a reader."""


@dataclass(frozen=True)
class Window:
    """Consecutive bytes of a stream."""

    start: int
    data: bytes
    lost_until: int | None = None
    """Set when *start* itself was lost: where the stream goes on."""

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + len(self.data)


@dataclass(frozen=True)
class CaptureReader:
    """One stream of one execution.

    *final* are the figures of an execution that has ended in order; without them the
    runner still writes, or was killed, and the count beside the file is read.
    """

    path: Path
    limit: int
    final: StreamFigures | None = None

    def figures(self) -> StreamFigures:
        """Return the counts as they are now."""
        if self.final:
            return self.final
        for _ in range(READ_AGAIN):
            record = self.path.with_name(f"{self.path.name}.count").read_bytes()
            observed, written = (
                int.from_bytes(record[at : at + COUNT_BYTES], "little") for at in (0, COUNT_BYTES)
            )
            if observed == written:
                break
        size = self.path.stat().st_size
        if size < self.limit:
            # Until it is full, the file itself tells, and is ahead of the count.
            written = max(written, size)
        return StreamFigures(max(observed, written), written)

    def retained(self) -> list[layout.Range]:
        """Return the ranges of the stream that can be read."""
        torn = 0 if self.final else layout.CHUNK
        return layout.retained(self.limit, self.figures().written, torn=torn)

    @property
    def retained_bytes(self) -> int:
        """How many bytes of the stream can be read."""
        return sum(end - start for start, end in self.retained())

    def window(self, offset: int, count: int) -> Window:
        """Return up to *count* bytes from *offset* on, without a gap among them."""
        for _ in range(READ_AGAIN):
            start, end = self._within(offset, count)
            data = self._read(start, end)
            if self._within(offset, count)[0] == start:
                break
        return Window(offset, data) if start == offset else Window(offset, b"", start)

    def _within(self, offset: int, count: int) -> layout.Range:
        """Return the first retained range at or after *offset*, cut to *count*."""
        for start, end in self.retained():
            if offset < end:
                first = max(offset, start)
                return first, min(end, first + count)
        return offset, offset

    def _read(self, start: int, end: int) -> bytes:
        if start == end:
            return b""
        pieces = []
        with self.path.open("rb") as file:
            for first, last in layout.spans(self.limit, start, end):
                file.seek(first)
                pieces.append(file.read(last - first))
        return b"".join(pieces)
