"""Server-sent events out of bytes, however the network cuts them.

Lines are split before they are decoded, so no multi-byte character is ever cut,
and a declared charset is ignored: an event stream is always UTF-8.
"""

from dataclasses import dataclass

from workflows.policy.streams import EVENT_BYTES, LINE_BYTES

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class OversizedEvent(Exception):
    """A line or an event is larger than the limits; the adapter says whose."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One dispatched event.  Ids and reconnection times mean nothing to a POST."""

    name: str
    data: bytes


class EventDecoder:
    """Turns the chunks of one response into events.  Linear in the bytes it is fed."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._after_carriage_return = False
        self._first_line = True
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that *chunk* completes.

        Raises:
            OversizedEvent: a line or an event exceeds its limit.
        """
        if not chunk:
            return []
        if self._after_carriage_return:
            chunk = chunk.removeprefix(b"\n")
        self._after_carriage_return = chunk.endswith(b"\r")
        lines = chunk.splitlines()
        rest = b"" if chunk.endswith((b"\n", b"\r")) else lines.pop()
        if lines and self._partial:
            lines[0] = self._joined(lines[0])
        events = [event for line in lines if (event := self._take(line))]
        self._keep(rest)
        return events

    def finish(self) -> list[ServerEvent]:
        """Return what the end of the stream completes.

        Many servers leave out the last empty line.  An event that was really cut
        does not parse, so it cannot pass for a whole one.
        """
        rest = self._joined(b"")
        last = [self._take(rest), self._take(b"")]
        return [event for event in last if event]

    def _joined(self, end: bytes) -> bytes:
        line = b"".join((*self._partial, end))
        self._partial, self._partial_bytes = [], 0
        return line

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)
        if self._partial_bytes > LINE_BYTES:
            raise OversizedEvent(f"a line of more than {LINE_BYTES:,} bytes")

    def _take(self, line: bytes) -> ServerEvent | None:
        if len(line) > LINE_BYTES:
            raise OversizedEvent(f"a line of more than {LINE_BYTES:,} bytes")
        if self._first_line:
            line, self._first_line = line.removeprefix(BYTE_ORDER_MARK), False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field == b"data":
            self._add(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        return None

    def _add(self, data: bytes) -> None:
        self._data.append(data)
        self._data_bytes += len(data) + 1
        if self._data_bytes > EVENT_BYTES:
            raise OversizedEvent(f"an event of more than {EVENT_BYTES:,} bytes")

    def _dispatch(self) -> ServerEvent | None:
        event = ServerEvent(self._name, b"\n".join(self._data)) if self._data else None
        self._name, self._data, self._data_bytes = "", [], 0
        return event
