"""The Chat Completions wire: one streamed request, one complete reply or a typed failure.

Nothing is retried here: the workflow owns every retry, and httpx makes none.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial

import httpx

from activities.provider.adapter import Delta, ModelReply, Prompt
from activities.provider.failures import Transmission, status_failure
from activities.provider.replies import ReplyAssembly
from activities.provider.reply_reader import ReplyReader
from activities.provider.tool_names import canonical_name
from activities.provider.wire import as_body
from workflows.policy.streams import (
    CONNECT,
    DRAIN,
    ERROR_BYTES,
    PROGRESS_SILENCE,
    TRAILER,
    TRANSPORT_SILENCE,
)

LOG = logging.getLogger(__name__)


class ChatCompletions:
    """One endpoint that speaks Chat Completions.  Implements ``ProviderAdapter``."""

    def __init__(
        self,
        name: str,
        endpoint: str,
        key: str | None,
        client: httpx.AsyncClient,
        idle: timedelta = TRANSPORT_SILENCE,
        stall: timedelta = PROGRESS_SILENCE,
    ) -> None:
        self.name = name
        self.endpoint = httpx.URL(endpoint)
        self.family = f"chat-completions:{self.endpoint.host}"
        """Who can read the reasoning fields of a reply."""
        self._secrets = (key,) if key else ()
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # Compression would hold deltas back.
            "accept-encoding": "identity",
        } | ({"authorization": f"Bearer {key}"} if key else {})
        self._client = client
        self._idle, self._stall = idle, stall

    async def complete(self, prompt: Prompt, on_delta: Callable[[Delta], None]) -> ModelReply:
        """Send *prompt* and return the complete reply.

        A call is shown as its name, then the pieces of its arguments.

        Raises:
            ProviderError: the attempt failed; its fields say how.
        """
        transmission = Transmission(self.name, self._secrets)
        decode = partial(canonical_name, tools=[tool.name for tool in prompt.tools])
        reader = ReplyReader(transmission, ReplyAssembly(on_delta, decode))
        try:
            async with asyncio.timeout(self._stall.total_seconds()) as clock:
                async with self._request(as_body(prompt, self.family)) as response:
                    reader.open(response)
                    await self._read(response, reader, clock)
        except TimeoutError as error:
            if not clock.expired():
                raise
            if not reader.is_complete:
                raise reader.broken(self._no_progress()) from error
        except httpx.RequestError as error:
            if not reader.is_complete:
                raise reader.broken(self._words(error)) from error
        return reader.reply()

    def _request(self, body: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        connect = CONNECT.total_seconds()
        idle = httpx.Timeout(self._idle.total_seconds(), connect=connect, pool=connect)
        return self._client.stream(
            "POST", self.endpoint, content=body, headers=self._headers, timeout=idle
        )

    async def _read(
        self, response: httpx.Response, reader: ReplyReader, clock: asyncio.Timeout
    ) -> None:
        if not response.is_success:
            content = await _beginning(response)
            raise status_failure(
                reader.transmission, response.status_code, response.headers, content
            )
        loop = asyncio.get_running_loop()
        chunks = response.aiter_bytes()
        async for chunk in chunks:
            if reader.feed(chunk):
                limit = min(TRAILER, self._stall) if reader.is_complete else self._stall
                clock.reschedule(loop.time() + limit.total_seconds())
            if reader.is_done:
                await _drain(chunks)
                return
        reader.end()

    def _no_progress(self) -> str:
        return f"no progress for {self._stall.total_seconds():g} s"

    def _words(self, error: httpx.RequestError) -> str:
        """Explain a transport error without the address's credentials or our headers."""
        if isinstance(error, httpx.ReadTimeout):
            return f"no byte for {self._idle.total_seconds():g} s"
        if isinstance(error, httpx.TimeoutException):
            return f"no connection to {self.endpoint.host} in {CONNECT.total_seconds():g} s"
        if isinstance(error, httpx.LocalProtocolError):
            return "the request cannot be sent as HTTP"
        return f"the connection to {self.endpoint.host} failed: {error or type(error).__name__}"


async def _beginning(response: httpx.Response) -> bytes:
    """Return the beginning of an error answer."""
    content = b""
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) >= ERROR_BYTES:
            break
    return content[:ERROR_BYTES]


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a finished stream, so that its connection can be used again.

    The reply is complete: a connection that does not close in time is dropped.
    """
    try:
        async with asyncio.timeout(DRAIN.total_seconds()):
            async for _ in chunks:
                continue
    except (TimeoutError, httpx.RequestError):
        LOG.debug("a finished stream did not close")
