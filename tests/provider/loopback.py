"""A real HTTP server on loopback that says exactly the bytes a test wants.

An answer is a head and steps: bytes to write, seconds to pause, or ``RESET``.
"""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

RESET = object()
"""Break the connection with a TCP reset."""

Step = bytes | float | object


@dataclass
class Answer:
    """What the server says to one request; the connection closes after it."""

    steps: Sequence[Step]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})


@dataclass
class Loopback:
    """The running server."""

    endpoint: str
    answers: list[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client closes its connection before the answer is over."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and say the next answer; the last one is repeated."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
            body = await reader.readexactly(int(fields["content-length"]))
            answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
            self.heads.append(head)
            self.requests.append(json.loads(body))
            saying = asyncio.create_task(self._say(answer, writer))
            listening = asyncio.create_task(reader.read())
            await asyncio.wait([saying, listening], return_when=asyncio.FIRST_COMPLETED)
            if not saying.done():
                self.hung_up.set()
                saying.cancel()
            listening.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    @staticmethod
    async def _say(answer: Answer, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {answer.status} X\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        writer.write(f"{head}connection: close\r\n\r\n".encode())
        for step in answer.steps:
            if step is RESET:
                await _reset(writer)
                return
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, float):
                await asyncio.sleep(step)


async def _reset(writer: asyncio.StreamWriter) -> None:
    """Send what is buffered, give the reader the time to see it, then reset."""
    await writer.drain()
    await asyncio.sleep(0.1)
    handle: socket.socket = writer.get_extra_info("socket")
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def loopback(*answers: Answer) -> AsyncIterator[Loopback]:
    """Serve *answers* in order on a free port of 127.0.0.1."""
    state = Loopback("", list(answers))
    server = await asyncio.start_server(state.converse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    state.endpoint = f"http://127.0.0.1:{port}/v1/chat/completions"
    async with server:
        yield state


def event(chunk: object) -> bytes:
    """Return one data event."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def text(content: str, finish: str | None = None) -> bytes:
    """Return an event with a piece of text."""
    return event(
        {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}
    )


def calls(*fragments: dict[str, Any], finish: str | None = None) -> bytes:
    """Return an event with tool call fragments."""
    delta = {"tool_calls": list(fragments)}
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


DONE = b"data: [DONE]\n\n"
