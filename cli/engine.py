"""The engine as a client reaches it: ask, and ask again under the same id.

Whoever asks must make the request repeatable, by an update id of its own.  Then a
server that restarts, a worker that died and a run that continues as new are all the
same thing: a moment of waiting, which the person sees, and no lost or doubled input.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.client import (
    Client,
    RPCTimeoutOrCancelledError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.configuration.locations import Roots
from activities.errors import ConversationError, RuntimeStateError, ServerUnreachableError
from worker.connection import connect
from worker.embedded.attach import ensure_running
from worker.embedded.environment import require_same
from worker.embedded.runtime_file import read_runtime

T = TypeVar("T")

NOTICE_AFTER = 1.0
"""A request that takes longer than a second is shown as reconnecting."""
ATTEMPT = 10.0
"""How long one attempt may stay unanswered before it is repeated."""
PAUSE = 0.25
DRAINING_PAUSE = 0.075
"""A run that ends is replaced within milliseconds: repeat after 50 to 100."""
DRAINING = "draining"

PASSING = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.CANCELLED,
    }
)
PASSING_WORDS = ("Workflow Task in failed state", "no poller")
"""Refusals that mean: the worker is away or has just died."""


class Engine:
    """One command's connection to the Temporal server, made when it is first needed."""

    def __init__(
        self,
        roots: Roots,
        address: str | None,
        *,
        patience: float | None,
        on_waiting: Callable[[str], None],
    ) -> None:
        self._roots = roots
        self._address = address
        self._patience = patience
        self.on_waiting = on_waiting
        """Hears why the engine is waited for, and the empty string when it is back."""
        # The SDK's warnings would go to standard error, in the middle of a screen.
        logging.getLogger("temporalio").addHandler(logging.NullHandler())
        self._client: Client | None = None
        self._has_answered = False

    async def ask(self, request: Callable[[Client], Awaitable[T]]) -> T:
        """Make *request* until it is answered, for as long as patience lasts.

        Raises:
            ConversationError: the conversation refused.
            RuntimeStateError: the engine cannot be reached.
        """
        started = asyncio.get_running_loop().time()
        while True:
            try:
                answer = await self._attempt(request)
            except WorkflowUpdateFailedError as error:
                _raise_unless_draining(error)
                await asyncio.sleep(DRAINING_PAUSE)
            except (RPCError, TimeoutError, RuntimeStateError) as error:
                reason = self._passing_reason(error)
                waited = asyncio.get_running_loop().time() - started
                if self._patience is not None and waited > self._patience:
                    raise ServerUnreachableError(
                        f"The engine has not answered for {round(waited)} s: {reason}"
                    ) from error
                self.on_waiting(reason)
                await asyncio.sleep(PAUSE)
            else:
                self._has_answered = True
                self.on_waiting("")
                return answer

    async def agree_on_environment(self) -> None:
        """Make sure that the embedded worker acts on the keys and endpoints set here.

        Raises:
            EnvironmentDiffersError: it was started with others.
        """
        if self._address is None:
            await self.ask(_nothing)
            runtime = read_runtime(self._roots.state)
            if runtime is not None:
                require_same(runtime.environment, os.environ, self._roots.state)

    async def _attempt(self, request: Callable[[Client], Awaitable[T]]) -> T:
        # The SDK turns a cancellation of an update into a failed call.  In a task of its
        # own the request cannot swallow the cancellation of whoever waits for it.
        task = asyncio.ensure_future(self._requested(request))
        try:
            done, _ = await asyncio.wait({task}, timeout=NOTICE_AFTER)
            if not done and self._has_answered:
                self.on_waiting("no answer yet")
            if not done:
                done, _ = await asyncio.wait({task}, timeout=self._longest)
            if not done:
                raise TimeoutError("no answer")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()

    @property
    def _longest(self) -> float:
        """How long an attempt may take: starting everything takes its own time."""
        return ATTEMPT if self._client is not None else 10 * ATTEMPT

    async def _requested(self, request: Callable[[Client], Awaitable[T]]) -> T:
        if self._client is None:
            self._client = await self._connect()
        return await request(self._client)

    async def _connect(self) -> Client:
        if self._address is not None:
            return await connect(self._address, self._roots)
        runtime = await ensure_running(self._roots)
        return await connect(runtime.address, self._roots)

    def _passing_reason(self, error: Exception) -> str:
        """Return why *error* will pass, or raise what it means for good."""
        if isinstance(error, RuntimeStateError) and not self._has_answered:
            raise error
        if isinstance(error, RPCError) and not _is_passing(error):
            raise _lasting(error) from error
        if self._address is None:
            # The supervisor may have brought the server back under another port.
            self._client = None
        return str(error) or type(error).__name__


async def _nothing(_client: Client) -> None:
    """Need no more than a connection."""


def _is_passing(error: RPCError) -> bool:
    if isinstance(error, RPCTimeoutOrCancelledError) or error.status in PASSING:
        return True
    return any(words in str(error) for words in PASSING_WORDS)


def _lasting(error: RPCError) -> Exception:
    if error.status is RPCStatusCode.NOT_FOUND:
        return ConversationError("The conversation is not running")
    return ServerUnreachableError(f"The engine refuses: {error.message}")


def _raise_unless_draining(error: WorkflowUpdateFailedError) -> None:
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type == DRAINING:
        return
    raise ConversationError(str(cause)) from error
