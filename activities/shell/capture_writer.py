"""Pump one stream of a command into its capture file, in constant memory.

The runner's side: the standard library only, and few of its modules.
"""

import os

from activities.shell import layout

COUNT_BYTES = 8
READS_AT_ONCE = 16
"""How much one ready stream may take before the others and the clock get their turn."""


class CaptureWriter:
    """Drains a pipe for as long as it is open, whatever becomes of the file.

    ``observed`` counts what the command wrote, ``written`` what went through the file;
    they differ only after a failure such as a full disk.  Both are on disk after every
    piece, in NAME.count, so that a killed runner leaves exact figures too.
    """

    def __init__(self, directory: str, name: str, limit: int, source: int) -> None:
        self.name, self.limit, self.source = name, limit, source
        self.observed = self.written = 0
        self.failure: str | None = None
        self.is_open = True
        self._buffer = memoryview(bytearray(layout.CHUNK))
        flags = os.O_CREAT | os.O_RDWR | os.O_TRUNC
        self._file = os.open(f"{directory}/{name}", flags, 0o600)
        self._count = os.open(f"{directory}/{name}.count", flags, 0o600)
        os.set_blocking(source, False)
        self._keep_count()

    def pump(self) -> None:
        """Take what is there now."""
        for _ in range(READS_AT_ONCE):
            try:
                count = os.readv(self.source, [self._buffer])
            except BlockingIOError:
                return
            if not count:
                self.close()
                return
            self._absorb(self._buffer[:count])

    def close(self) -> None:
        """Stop listening."""
        if self.is_open:
            for descriptor in (self.source, self._file, self._count):
                os.close(descriptor)
            self.is_open = False

    def report(self) -> dict[str, object]:
        """Return the figures of the outcome."""
        return {"observed": self.observed, "written": self.written, "failure": self.failure}

    def _absorb(self, piece: memoryview) -> None:
        self.observed += len(piece)
        if self.failure is None:
            try:
                self._write(piece)
                self.written += len(piece)
            except OSError as error:
                # The command goes on and is counted on; what is missing is said.
                self.failure = error.strerror
        self._keep_count()

    def _write(self, piece: memoryview) -> None:
        for start, stop in layout.spans(self.limit, self.written, self.written + len(piece)):
            part, piece = piece[: stop - start], piece[stop - start :]
            while part:
                part = part[os.pwrite(self._file, part, stop - len(part)) :]

    def _keep_count(self) -> None:
        figures = (self.observed, self.written)
        record = b"".join(figure.to_bytes(COUNT_BYTES, "little") for figure in figures)
        os.pwrite(self._count, record, 0)
