"""The owner's codec endpoint: opens sealed payloads for the Temporal Web UI in a browser.

It speaks Temporal's remote codec protocol on loopback, where every account of the
machine can reach it.  So its address carries a secret that is drawn anew each time,
a browser may use it from the Web UI's pages only, and everybody else is told nothing.
"""

import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from google.protobuf.json_format import MessageToJson, Parse, ParseError
from temporalio.api.common.v1 import Payload, Payloads

from activities.errors import StoreError, UnsealedPayload
from activities.store.objects import ObjectDirectory
from worker.payloads import find_kept, kept_name
from worker.sealing.seal import Seal

LOOPBACK: Final = "127.0.0.1"
SECRET_BYTES: Final = 32
LARGEST_REQUEST: Final = 16 * 1024 * 1024
SECONDS: Final = 10
"""How long one request may take to arrive."""
WORKFLOW_HEADER: Final = "X-Autolith-Workflow"
"""Names the workflow that ``/encode`` seals for: what is sealed for none is refused."""
_ALLOWED_HEADERS: Final = f"Content-Type, Authorization, X-Namespace, {WORKFLOW_HEADER}"
_UNKNOWN: Final = HTTPStatus.NOT_FOUND


class CodecEndpoint:
    """An HTTP server that opens and seals payloads for whoever knows its address."""

    def __init__(self, seal: Seal, objects: ObjectDirectory, *, ui_origin: str) -> None:
        """Listen on a free port of loopback; *ui_origin* is where the Web UI is served."""
        self._secret = secrets.token_urlsafe(SECRET_BYTES)
        self._server = _Server(_Service(seal, objects), f"/{self._secret}", ui_origin)

    @property
    def address(self) -> str:
        """The address to give to the Web UI.  Whoever has it can read everything."""
        return f"http://{LOOPBACK}:{self._server.server_port}/{self._secret}"

    def serve(self) -> None:
        """Serve until another thread calls :meth:`stop`, or this one is interrupted."""
        self._server.serve_forever()

    def stop(self) -> None:
        """Let the thread that serves return."""
        self._server.shutdown()

    def close(self) -> None:
        """Give the port back."""
        self._server.server_close()


class _Service:
    """What the endpoint does, without HTTP."""

    def __init__(self, seal: Seal, objects: ObjectDirectory) -> None:
        self._seal = seal
        self._objects = objects

    def decode(self, payload: Payload) -> Payload:
        """Return what *payload* holds, or itself if it is not ours to open."""
        try:
            kept = kept_name(payload)
            sealed = payload if kept is None else find_kept(self._objects, kept)
            return self._seal.open(sealed, None)
        except (UnsealedPayload, StoreError):
            return payload

    def encode(self, payload: Payload, workflow: str) -> Payload:
        """Return *payload* sealed for *workflow*."""
        return self._seal.close(payload, workflow)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service: _Service, root: str, origin: str) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.service = service
        self.root = root
        self.origin = origin

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a client that hung up: that is its own business."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request.  Every refusal looks the same: a status, and no body."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = SECONDS

    def do_OPTIONS(self) -> None:
        """Answer a browser that asks whether it may."""
        if self._is_known_place() and self._is_allowed_origin() and self.headers["Origin"]:
            self._answer(HTTPStatus.NO_CONTENT)
        else:
            self._refuse(HTTPStatus.FORBIDDEN)

    def do_POST(self) -> None:
        """Open or seal the payloads of the request."""
        if not self._is_known_place():
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not self._is_allowed_origin():
            self._refuse(HTTPStatus.FORBIDDEN)
        else:
            self._convert()

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Refuse what http.server itself does not like, without its explanations."""
        del message, explain
        self._refuse(HTTPStatus(code) if code < HTTPStatus.INTERNAL_SERVER_ERROR else _UNKNOWN)

    def version_string(self) -> str:
        """Name no version."""
        return "autolith"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class's name
        """Log nothing: the address is a secret."""

    def _convert(self) -> None:
        payloads = self._payloads()
        workflow = self.headers.get(WORKFLOW_HEADER, "")
        if payloads is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        elif self.path.endswith("/decode"):
            self._reply([self.server.service.decode(payload) for payload in payloads])
        elif workflow:
            self._reply([self.server.service.encode(payload, workflow) for payload in payloads])
        else:
            self._refuse(HTTPStatus.FORBIDDEN)

    def _payloads(self) -> list[Payload] | None:
        """Return the payloads of the request's body; None if it has none that is well-formed."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_REQUEST:
            return None
        try:
            return list(Parse(self.rfile.read(int(length)), Payloads()).payloads)
        except (ParseError, UnicodeDecodeError):
            return None

    def _reply(self, payloads: list[Payload]) -> None:
        self._answer(HTTPStatus.OK, MessageToJson(Payloads(payloads=payloads)).encode())

    def _refuse(self, status: HTTPStatus) -> None:
        # What is left of the request is not read, so the connection cannot go on.
        self.close_connection = True
        self._answer(status)

    def _answer(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response(status)
        headers = getattr(self, "headers", None)
        if headers is not None and headers.get("Origin") == self.server.origin:
            self.send_header("Access-Control-Allow-Origin", self.server.origin)
            self.send_header("Access-Control-Allow-Methods", "POST")
            self.send_header("Access-Control-Allow-Headers", _ALLOWED_HEADERS)
            self.send_header("Vary", "Origin")
        if body:
            self.send_header("Content-Type", "application/json")
        if self.close_connection:
            self.send_header("Connection", "close")
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _is_known_place(self) -> bool:
        asked = self.path.encode(errors="replace")
        places = (f"{self.server.root}/{operation}".encode() for operation in ("decode", "encode"))
        return any(secrets.compare_digest(asked, place) for place in places)

    def _is_allowed_origin(self) -> bool:
        """Tell whether the request comes from the Web UI, or from no browser at all."""
        return self.headers.get("Origin") in (None, self.server.origin)
