"""Serve a script over HTTP on loopback, to any number of clients at once."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import h11
import pydantic_core

from activities.errors import ConfigurationError, PortTakenError, ScriptError
from activities.provider.scripted.answers import Answer, error_document, event
from activities.provider.scripted.connection import Connection
from activities.provider.scripted.playbook import Playbook
from activities.provider.scripted.script import Fault, FaultKind, Reply, Script

ADDRESS = "127.0.0.1"
JSON = ("content-type", "application/json")
EVENTS = ("content-type", "text/event-stream")
MODELS_PATHS = ("/v1/models", "/models")
FOR_EVER = 86_400.0
CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")


@dataclass
class ServedRequest:
    """One request, and what became of its answer."""

    number: int
    body: dict[str, Any]
    reply: str
    """The place of the reply in the script, or ``refused``."""
    outcome: str = "answering"
    """Then ``complete``, ``hung-up`` when the client left, or the kind of the fault."""


@dataclass
class ScriptedProvider:
    """A running scripted provider; made by :func:`serve`."""

    script: Script
    log: IO[str] | None = None
    remember: bool = True
    endpoint: str = ""
    """The base address, as ``AUTOLITH_OPENAI_ENDPOINT`` takes it."""
    requests: list[ServedRequest] = field(default_factory=list)
    """Every request in order, unless the server was told to remember none."""

    def __post_init__(self) -> None:
        """Open the script at its beginning."""
        self._playbook = Playbook(self.script)

    async def respond(self, connection: Connection, request: h11.Request, body: bytes) -> None:
        """Answer one request."""
        path = request.target.decode("ascii", "replace").partition("?")[0]
        if request.method == b"GET" and path in MODELS_PATHS:
            model = {"id": self.script.model, "object": "model", "owned_by": "autolith"}
            await _document(connection, 200, {"object": "list", "data": [model]})
        elif path not in CHAT_PATHS:
            await _document(connection, 404, error_document(f"no such path: {path}", "not_found"))
        elif request.method != b"POST":
            await _document(connection, 405, error_document("POST is expected", "bad_request"))
        else:
            await self._chat(connection, body)

    async def _chat(self, connection: Connection, body: bytes) -> None:
        served = ServedRequest(0, {}, "refused")
        try:
            seen = self._playbook.see(body)
            served.number, served.body = seen.number, seen.body
            reply = self._playbook.choose(seen)
            served.reply = reply.place
            answer = Answer(reply, seen)
        except ScriptError as error:
            self._note(served)
            await _document(connection, 400, error_document(str(error), "script_error"))
            self._close(served, "refused")
            return
        self._note(served)
        try:
            self._close(served, await _give(connection, reply, answer))
        except asyncio.CancelledError:
            self._close(served, "hung-up")
            raise

    def _note(self, served: ServedRequest) -> None:
        if self.remember:
            self.requests.append(served)
        self._write({"request": served.number, "reply": served.reply, "body": served.body})

    def _close(self, served: ServedRequest, outcome: str) -> None:
        served.outcome = outcome
        self._write({"request": served.number, "outcome": outcome})

    def _write(self, line: dict[str, Any]) -> None:
        if self.log:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()


@asynccontextmanager
async def serve(
    script: Script, port: int = 0, log: Path | None = None, *, remember: bool = True
) -> AsyncIterator[ScriptedProvider]:
    """Serve *script* on 127.0.0.1; port 0 takes a free one.

    *log* gets a line of JSON for each request and one for its outcome; only the owner
    can read it.  *remember* keeps every request in memory as well.

    Raises:
        PortTakenError: the port cannot be had.
        ConfigurationError: the log cannot be written.
    """
    provider = ScriptedProvider(script, _open_log(log), remember)
    connections: set[Connection] = set()
    server = await _listen(provider, connections, port)
    provider.endpoint = f"http://{ADDRESS}:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield provider
    finally:
        server.close()
        await asyncio.gather(*(connection.stop() for connection in connections))
        await server.wait_closed()
        if provider.log:
            provider.log.close()


async def _listen(
    provider: ScriptedProvider, connections: set[Connection], port: int
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(
            lambda: Connection(provider.respond, connections), ADDRESS, port, backlog=256
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(
                f"Port {port} of {ADDRESS} is in use; choose another, or 0 for a free one"
            ) from error
        raise PortTakenError(
            f"Port {port} of {ADDRESS} cannot be used: {os.strerror(error.errno or 0)}"
        ) from error


def _open_log(path: Path | None) -> IO[str] | None:
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror}") from error
    return os.fdopen(descriptor, "w", encoding="utf-8")


async def _give(connection: Connection, reply: Reply, answer: Answer) -> str:
    """Give a reply with its delays and its fault; return the outcome."""
    fault = reply.fault
    if reply.first_delay:
        await asyncio.sleep(reply.first_delay)
    if fault and fault.kind is FaultKind.HANG_UP:
        connection.close()
        return fault.kind
    if fault and fault.kind is FaultKind.STATUS:
        await _refuse(connection, fault)
        return fault.kind
    if not answer.seen.is_streamed:
        return await _give_whole(connection, reply, answer)
    await connection.begin(200, [EVENTS, ("transfer-encoding", "chunked")])
    if not reply.delay and not fault:
        # Nothing has to happen in between, so it is one write.
        await connection.write(b"".join((answer.opening(), *answer.pieces(), answer.ending())))
        await connection.end()
        return "complete"
    return await _give_pieces(connection, reply, answer)


async def _give_pieces(connection: Connection, reply: Reply, answer: Answer) -> str:
    fault, given = reply.fault, 0
    await connection.write(answer.opening())
    for piece in answer.pieces():
        if fault and fault.after == given and await _break(connection, fault):
            return fault.kind
        await asyncio.sleep(reply.delay)
        await connection.write(piece)
        given += 1
    if fault and fault.after >= given and await _break(connection, fault):
        return fault.kind
    await connection.write(answer.ending())
    await connection.end()
    return "complete"


async def _break(connection: Connection, fault: Fault) -> bool:
    """Let the fault happen; return whether the answer is over."""
    if fault.kind is FaultKind.STALL:
        await _stall(connection, fault)
        return False
    if fault.kind is FaultKind.ERROR:
        await connection.write(event(error_document(fault.message, fault.code)))
        await connection.end()
        return True
    if fault.kind is FaultKind.RESET:
        connection.reset()
    else:
        connection.close()
    return True


async def _stall(connection: Connection, fault: Fault) -> None:
    """Be silent but for comments; a client that leaves cancels this."""
    try:
        async with asyncio.timeout(fault.seconds):
            while True:
                await asyncio.sleep(fault.comments or FOR_EVER)
                await connection.write(b": still here\n\n")
    except TimeoutError:
        return


async def _give_whole(connection: Connection, reply: Reply, answer: Answer) -> str:
    """Give a reply to a client that does not stream, after the delays of its pieces."""
    await asyncio.sleep(reply.delay * sum(1 for _ in answer.pieces()))
    # There is no stream yet that a comment could go into.
    fault = replace(reply.fault, comments=None) if reply.fault else None
    if fault and fault.kind is FaultKind.ERROR:
        await _document(connection, 200, error_document(fault.message, fault.code))
        return fault.kind
    if fault and await _break(connection, fault):
        return fault.kind
    await _bytes(connection, 200, [JSON], answer.document())
    return "complete"


async def _refuse(connection: Connection, fault: Fault) -> None:
    body = fault.body
    if body is None:
        body = json.dumps(error_document(fault.message, fault.code))
    headers = dict([JSON]) | dict(fault.headers)
    await _bytes(connection, fault.status, list(headers.items()), body.encode())


async def _document(connection: Connection, status: int, document: object) -> None:
    await _bytes(connection, status, [JSON], pydantic_core.to_json(document))


async def _bytes(
    connection: Connection, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    await connection.begin(status, [*headers, ("content-length", str(len(body)))])
    await connection.write(body)
    await connection.end()
