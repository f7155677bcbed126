"""Find the runtime of a state root, or start it: what every command does first.

Nothing that is read is believed: the processes must be the very ones that were
published, and the server must serve the database that was published.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import activities.errors
from activities.configuration.locations import Roots
from activities.errors import (
    AutolithError,
    ConfigurationError,
    ForeignServerError,
    LockHeldError,
    NotRunningError,
    ServerFailedError,
    ServerUnreachableError,
)
from worker.embedded.cluster import served_cluster
from worker.embedded.lock import signer
from worker.embedded.log_file import LogFile
from worker.embedded.ports import listens
from worker.embedded.readiness import READY, Launch, own_command
from worker.embedded.runtime_file import Runtime, read_runtime
from worker.embedded.supervisor import LOCK

TIMEOUT: Final = 60.0
"""Seconds for a start from nothing, which takes about two."""
_POLL: Final = 0.03
_UNSEEN_HOLDERS: Final = 3
"""How often a lock may be held by nobody whom we can see before that is an answer."""


def supervisor_command(port: int) -> Sequence[str]:
    """Return the command line of a supervisor, at *port* unless it is 0."""
    chosen = ("--port", str(port)) if port else ()
    return own_command(sys.executable, "up", "--foreground", *chosen)


async def find_runtime(roots: Roots) -> Runtime:
    """Return what runs for *roots*, after checking that it is what was published.

    Raises:
        NotRunningError: the supervisor, the server or the worker does not run (yet).
        ForeignServerError: something else answers where our server should.
        ConfigurationError: ``runtime.sexp`` is damaged.
    """
    runtime = _published(roots)
    try:
        found = await served_cluster(runtime.ports.http)
    except ServerUnreachableError as error:
        raise NotRunningError(str(error)) from error
    if found != runtime.cluster:
        raise ForeignServerError(
            f"The server at {runtime.address} is not the one of this state root; "
            "run 'autolith down' and repeat the command"
        )
    return runtime


def _published(roots: Roots) -> Runtime:
    """Return what was published, if all of its processes run."""
    runtime = read_runtime(roots.state)
    if runtime is None or not runtime.supervisor.is_alive:
        raise NotRunningError("Autolith does not run here; 'autolith up' starts it")
    ports, server, worker = runtime.ports, runtime.server, runtime.worker
    if not server or not server.is_alive or not listens(server.pid, ports.frontend, ports.http):
        raise NotRunningError(runtime.trouble or "the server is being started")
    if not worker or not worker.is_alive or not runtime.is_ready:
        raise NotRunningError(runtime.trouble or "the worker is being started")
    return runtime


async def ensure_running(
    roots: Roots,
    *,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 -- its end is a typed error with the reason
    port: int = 0,
    environ: Mapping[str, str] = os.environ,
    command: Callable[[int], Sequence[str]] = supervisor_command,
) -> Runtime:
    """Return the runtime of *roots*, having started it if it does not run.

    It outlives the caller and its terminal.  Callers at the same moment all get the
    same runtime.

    Raises:
        ForeignServerError: something else answers where our server should.
        AutolithError: it does not come up; the error says why.
    """
    roots.create()
    attachment = _Attachment(roots, command(port), environ)
    try:
        async with asyncio.timeout(timeout):
            return await attachment.run()
    except TimeoutError:
        raise attachment.too_late(timeout) from None


class _Attachment:
    """One caller's wait for the runtime, during which it may start a supervisor."""

    def __init__(self, roots: Roots, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._roots = roots
        self._command = command
        self._environ = {**environ, **roots.environment()}
        self._refusals = 0

    async def run(self) -> Runtime:
        while True:
            # A damaged file is as good as none: whoever holds the lock will replace it.
            with suppress(NotRunningError, ConfigurationError):
                return await find_runtime(self._roots)
            if signer(self._roots.state / LOCK) is None:
                await self._start()
            else:
                await asyncio.sleep(_POLL)

    async def _start(self) -> None:
        launch = Launch(
            self._command,
            environ=self._environ,
            log=LogFile(self._roots.logs / "supervisor.log"),
        )
        try:
            line = await launch.line()
            if line != READY:
                await launch.watched.ended()
        finally:
            launch.watched.forget()
        if line != READY:
            self._weigh(_failure(line or f"The supervisor ended: {launch.last_words()}"))

    def _weigh(self, error: AutolithError) -> None:
        """Wait for the holder of the lock, or give up for any other reason."""
        seen = signer(self._roots.state / LOCK) is not None
        self._refusals += not seen
        if not isinstance(error, LockHeldError) or self._refusals == _UNSEEN_HOLDERS:
            raise error

    def too_late(self, seconds: float) -> NotRunningError:
        """Return the error that says what was waited for in vain."""
        reason = "the server does not answer"
        try:
            _published(self._roots)
        except AutolithError as error:
            reason = str(error)
        return NotRunningError(
            f"Autolith was not ready after {seconds:g} s: {reason} (see {self._roots.logs})"
        )


def _failure(line: str) -> AutolithError:
    """Return the error that a supervisor reported as its name and message."""
    name, _, message = line.partition(" ")
    found = getattr(activities.errors, name, None)
    if isinstance(found, type) and issubclass(found, AutolithError):
        return found(message)
    return ServerFailedError(line)
