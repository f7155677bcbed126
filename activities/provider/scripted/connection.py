"""One HTTP/1.1 connection of the scripted provider.

``h11`` knows the protocol; this class moves bytes, keeps the connection for the next
request, and cancels the answer when the client goes away.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import h11

MAX_BODY = 64 * 1024 * 1024
LISTENING_HEADERS = 64 * 1024


class Connection(asyncio.Protocol):
    """Collects one request after the other and hands each to *respond*."""

    def __init__(
        self,
        respond: "Callable[[Connection, h11.Request, bytes], Awaitable[None]]",
        connections: "set[Connection]",
    ) -> None:
        self._respond = respond
        self._connections = connections
        self._http = h11.Connection(
            our_role=h11.SERVER, max_incomplete_event_size=LISTENING_HEADERS
        )
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)  # what a TCP server hands out
        # A write is over when everything has left this process.
        self.transport.set_write_buffer_limits(high=0)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's
        """Stop answering: nobody listens."""
        self._connections.discard(self)
        if self._answering:
            self._answering.cancel()

    def pause_writing(self) -> None:
        """Wait before the next write; the client is slow."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Write on."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Take bytes in."""
        self._http.receive_data(data)
        self._advance()

    async def stop(self) -> None:
        """End the connection and its answer at once."""
        self.transport.abort()
        if answering := self._answering:
            answering.cancel()
            await asyncio.wait([answering])

    def close(self) -> None:
        """End the connection; what was written is still sent."""
        self.transport.close()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        handle = self.transport.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def begin(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head of a response."""
        await self._send(h11.Response(status_code=status, headers=list(headers)))

    async def write(self, data: bytes) -> None:
        """Send a part of a response's body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """Finish a response; the connection is ready for the next request."""
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self.transport.write(data)
        await self._writable.wait()

    def _advance(self) -> None:
        try:
            while self._answering is None and self._take(self._http.next_event()):
                pass
        except h11.RemoteProtocolError:
            self.transport.close()

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        """Take one event; return whether there may be another."""
        if event is h11.NEED_DATA and self._http.they_are_waiting_for_100_continue:
            self.transport.write(
                self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b""
            )
        if isinstance(event, h11.Request):
            self._request, self._body = event, bytearray()
        elif isinstance(event, h11.Data):
            self._body += event.data
            if len(self._body) > MAX_BODY:
                self.transport.abort()
                return False
        elif isinstance(event, h11.EndOfMessage) and self._request:
            self._answering = asyncio.ensure_future(self._answer(self._request))
        elif isinstance(event, h11.ConnectionClosed):
            self.transport.close()
        return isinstance(event, h11.Request | h11.Data)

    async def _answer(self, request: h11.Request) -> None:
        try:
            await self._respond(self, request, bytes(self._body))
        finally:
            self._answering = None
            self._begin_next()

    def _begin_next(self) -> None:
        """Take the next request, or close what has not ended as HTTP should."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._advance()
        else:
            self.transport.close()
