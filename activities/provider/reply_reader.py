"""Read the body of one answer into a reply, and judge how it ends."""

import json
import logging
from collections.abc import Iterable
from typing import Any

import httpx
import pydantic_core

from activities.provider.adapter import ModelReply
from activities.provider.errors import (
    IncompleteReply,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    StreamInterrupted,
    TransportFailure,
)
from activities.provider.failures import Transmission, stream_failure
from activities.provider.replies import ReplyAssembly, first_choice
from activities.provider.streaming import EventDecoder, OversizedEvent, ServerEvent
from workflows.policy.streams import MALFORMED_PAYLOADS, REPLY_BYTES

LOG = logging.getLogger(__name__)

CUT_REASONS = frozenset({"length", "max_tokens", "model_length"})
"""The reply stopped at a limit: incomplete, and perhaps better the next time."""
FILTER_REASONS = frozenset({"content_filter", "safety"})
"""The provider stopped the reply for what it says: permanent."""
IDENTIFYING_HEADERS = ("x-request-id", "request-id", "x-generation-id", "cf-ray")
IDENTIFYING_KEYS = {"id": "response-id", "provider": "served-by", "model": "model"}
DONE = b"[DONE]"


class ReplyReader:
    """Takes headers and bytes in, and tells when and how the reply is over."""

    def __init__(self, transmission: Transmission, assembly: ReplyAssembly) -> None:
        self.transmission, self.assembly = transmission, assembly
        self.is_done = False
        self._answered = False
        self._decoder: EventDecoder | None = EventDecoder()
        self._whole: list[bytes] = []
        self._bytes = self._malformed = 0

    @property
    def is_complete(self) -> bool:
        """Whether the reply said that it is finished, whatever becomes of the connection."""
        return self.is_done or self.assembly.finish is not None

    def open(self, response: httpx.Response) -> None:
        """Take note of the answer's headers."""
        self._answered = True
        headers = response.headers
        for name in IDENTIFYING_HEADERS:
            self.transmission.identify("request-id", headers.get(name))
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.is_success and kind == "text/html":
            raise self.transmission.failure(
                MalformedReply, "the endpoint answered with a web page, not with a reply"
            )
        if kind == "application/json":
            self._decoder = None

    def feed(self, chunk: bytes) -> bool:
        """Take bytes in; return whether they brought the reply forward."""
        self._bytes += len(chunk)
        if self._bytes > REPLY_BYTES:
            raise self.transmission.failure(
                MalformedReply, f"the reply is larger than {REPLY_BYTES:,} bytes"
            )
        if self._decoder is None:
            self._whole.append(chunk)
            return True
        try:
            events = self._decoder.feed(chunk)
        except OversizedEvent as error:
            raise self.transmission.failure(
                StreamInterrupted, f"the stream sent {error}"
            ) from error
        return self._take(events)

    def end(self) -> None:
        """Take note of the end of the body."""
        if self._decoder:
            self._take(self._decoder.finish())
        else:
            # The server did not stream: the whole body is one chunk.
            self._take([ServerEvent("", b"".join(self._whole))])

    def broken(self, words: str) -> ProviderError:
        """Return the failure of a connection that broke."""
        kind = StreamInterrupted if self._answered else TransportFailure
        return self.transmission.failure(kind, words)

    def reply(self) -> ModelReply:
        """Return the complete reply.

        Raises:
            ProviderError: it is not complete.
        """
        assembly, transmission = self.assembly, self.transmission
        if not self.is_complete or (assembly.finish is None and assembly.is_empty):
            raise transmission.failure(StreamInterrupted, "the stream ended before the reply")
        if assembly.finish in CUT_REASONS:
            raise transmission.failure(
                IncompleteReply, "the reply was cut at the length limit", code=assembly.finish
            )
        if assembly.finish in FILTER_REASONS:
            raise transmission.failure(
                ProviderRefused, "the provider's filter stopped the reply", code=assembly.finish
            )
        if any(not call.call_id or not call.name for call in assembly.calls):
            raise transmission.failure(StreamInterrupted, "a call came without an id or a name")
        return assembly.reply(dict(transmission.identifiers))

    def _take(self, events: Iterable[ServerEvent]) -> bool:
        progress = False
        for event in events:
            if self.is_done:
                break
            data = event.data.strip()
            if data.startswith(DONE):
                self.is_done = progress = True
            elif data and not data.startswith(b":"):
                progress |= self._chunk(event.name, data)
        return progress

    def _chunk(self, name: str, data: bytes) -> bool:
        chunk = _object(data)
        if chunk is None:
            self._skip(name, data)
            return False
        self._identify(chunk)
        self._refuse_errors(name, chunk)
        progress = self.assembly.add(chunk)
        self.transmission.output_started = self.assembly.output_started
        return progress

    def _skip(self, name: str, data: bytes) -> None:
        """Pass over one payload that is no JSON object (field case A-03)."""
        if name == "error":
            raise stream_failure(self.transmission, data.decode("utf-8", "replace"))
        self._malformed += 1
        LOG.warning(
            "%s: payload of %d bytes is no JSON object", self.transmission.provider, len(data)
        )
        if self._malformed > MALFORMED_PAYLOADS:
            raise self.transmission.failure(
                StreamInterrupted, "the stream is not the protocol's JSON"
            )

    def _identify(self, chunk: dict[str, Any]) -> None:
        for key, name in IDENTIFYING_KEYS.items():
            self.transmission.identify(name, chunk.get(key))

    def _refuse_errors(self, name: str, chunk: dict[str, Any]) -> None:
        """Raise what an error inside a successful stream means (field cases A-05, A-09)."""
        choice = first_choice(chunk)
        report = chunk.get("error") or choice.get("error")
        if not report and name == "error":
            report = chunk
        if not report and choice.get("finish_reason") == "error":
            report = "the provider ended the reply with an error"
        if report:
            # What the same chunk brought counts for the phase of the failure.
            self.assembly.add(chunk)
            self.transmission.output_started = self.assembly.output_started
            raise stream_failure(self.transmission, report)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = pydantic_core.from_json(data)
    except ValueError:
        value = _lenient(data)
    return value if isinstance(value, dict) else None


def _lenient(data: bytes) -> object:
    """Return JSON that holds invalid bytes, or half a character in an escape."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
