"""The worker, kept running against the server that serves at the moment."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from activities.errors import WorkerFailedError
from worker.embedded.log_file import LogFile
from worker.embedded.process import Watched
from worker.embedded.readiness import READY, Launch
from worker.embedded.runtime_file import Runtime
from worker.embedded.server_service import ServerService
from worker.embedded.service import Service

STOP: Final = 8.0
"""Seconds: the worker's own grace of five, and a margin for leaving."""
_START: Final = 60.0


class WorkerService(Service):
    """Keeps the process that *command* starts running; the address is appended to it."""

    name = "worker"
    grace = STOP

    def __init__(
        self,
        command: Callable[[str], Sequence[str]],
        *,
        environ: Mapping[str, str],
        digests: Mapping[str, str],
        log: LogFile,
        server: ServerService,
        changed: Callable[[], None],
    ) -> None:
        super().__init__(changed)
        self.address = ""
        self.digests = digests
        self._leaving: asyncio.Task[None] | None = None
        self._command = command
        self._environ = environ
        self._own_digests = digests
        self._log = log
        self._server = server

    async def begin(self) -> None:
        """Start the worker; the first failure may have been a passing one."""
        try:
            await super().begin()
        except WorkerFailedError as error:
            self.trouble = str(error)
            self.changed()
            await super().begin()

    async def start(self) -> None:
        """Start the worker as soon as there is a server, and wait until it polls."""
        await self._server.serving.wait()
        self.address = self._server.address
        try:
            launch = Launch(self._command(self.address), environ=self._environ, log=self._log)
        except OSError as error:
            raise WorkerFailedError(f"The worker cannot be started: {error}") from error
        self.watched, self.digests = launch.watched, self._own_digests
        self.changed()
        try:
            async with asyncio.timeout(_START):
                line = await launch.line()
        except TimeoutError:
            line = f"it was not ready after {_START:g} s"
        if line != READY:
            await self.watched.stop(STOP)
            raise WorkerFailedError(f"The worker did not come up: {line or launch.last_words()}")

    async def take_over(self, previous: Runtime | None, *, release: str) -> bool:
        """Adopt the worker of *previous* if it is of this *release* and server; else end it."""
        if previous is None or previous.worker is None:
            return False
        watched = Watched.adopt(previous.worker)
        if watched is None:
            return False
        found = (previous.versions.autolith, previous.address, previous.cluster)
        if found != (release, self._server.address, self._server.cluster) or not previous.is_ready:
            await watched.stop(STOP)
            return False
        self.watched, self.address = watched, previous.address
        self.digests = previous.environment
        self.is_serving()
        return True

    def follow(self) -> None:
        """Ask the worker to end if the server has moved; it is started at the new address."""
        if self.serving.is_set() and self.address != self._server.address:
            self.serving.clear()
            self._leaving = asyncio.create_task(self.stop())
