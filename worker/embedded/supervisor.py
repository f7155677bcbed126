"""The supervisor: starts the server and the worker, and starts them again when they die.

It holds the state root's one lock for its whole life.  When it is killed itself, both
go on without it; the next command that needs the runtime starts another supervisor,
which adopts what provably is ours and still serves, and ends what does not.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Final

from activities.configuration.locations import Roots
from activities.errors import AutolithError, ConfigurationError, UnwritableRootError
from worker.embedded import systemd
from worker.embedded.binary import find_binary, identify
from worker.embedded.environment import digests
from worker.embedded.lock import locked, sign
from worker.embedded.log_file import LogFile
from worker.embedded.process import Process
from worker.embedded.readiness import READY, announce, own_command
from worker.embedded.readiness import VARIABLE as READY_VARIABLE
from worker.embedded.runtime_file import NAME, Runtime, Versions, publish_runtime, read_runtime
from worker.embedded.server import Server
from worker.embedded.server_service import ServerService
from worker.embedded.worker_service import WorkerService

LOCK: Final = "supervisor.lock"
OWN_VARIABLES: Final = (READY_VARIABLE, systemd.VARIABLE, "AUTOLITH_TEMPORAL_ADDRESS")
"""What was said to the supervisor, and would mislead the worker."""
_TEND: Final = 5.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger("autolith.supervisor")


def worker_command(address: str) -> Sequence[str]:
    """Return the command line of a worker for the server at *address*."""
    return own_command(sys.executable, "--address", address, "worker")


class Supervisor:
    """Runs one server and one worker for *roots* until it is told to stop.

    *environ* is what the worker gets to see; *command* makes the worker's command line.
    """

    def __init__(
        self,
        roots: Roots,
        *,
        port: int = 0,
        environ: Mapping[str, str] = os.environ,
        command: Callable[[str], Sequence[str]] = worker_command,
    ) -> None:
        self._roots = roots
        self._port = port
        self._environ = environ
        self._command = command
        self._stopping = asyncio.Event()
        self._is_published = False
        self._started = int(time.time())

    async def run(self) -> None:
        """Serve until SIGTERM, SIGINT or SIGHUP; a second one ends everything at once.

        Raises:
            LockHeldError: another supervisor serves this state root.
            AutolithError: the runtime does not come up; nothing of it is left running.
        """
        try:
            self._roots.create()
            path = self._roots.state / LOCK
            held = f"Another supervisor serves {path.parent}; 'autolith down' stops it"
            with locked(path, held=held) as lock:
                sign(lock, Process.own())
                await self._serve()
        except AutolithError as error:
            self._tell_starter(f"{type(error).__name__} {error}")
            raise

    async def _serve(self) -> None:
        self._compose()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        work = asyncio.create_task(self._work())
        told = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((work, told), return_when=asyncio.FIRST_COMPLETED)
        finally:
            systemd.notify(self._environ, systemd.STOPPING)
            told.cancel()
            work.cancel()
            await asyncio.wait((work, told))
            await self._end()
        if not work.cancelled():
            work.result()

    def _compose(self) -> None:
        binary = identify(find_binary(self._environ), self._roots.cache)
        self._versions = Versions(version("autolith"), binary.server, binary.version)
        environ = {
            name: value for name, value in self._environ.items() if name not in OWN_VARIABLES
        }
        server = Server(self._roots.state, self._roots.logs, binary, environ)
        self._server = ServerService(server, port=self._port, changed=self._publish)
        self._worker = WorkerService(
            self._command,
            environ=environ,
            digests=digests(environ, self._roots.state),
            log=LogFile(self._roots.logs / "worker.log"),
            server=self._server,
            changed=self._publish,
        )

    async def _work(self) -> None:
        """Bring everything up, then keep it up; never returns."""
        previous = self._previous()
        if not await self._server.take_over(previous):
            await self._server.begin()
        tasks: list[asyncio.Task[None]] = [asyncio.create_task(self._server.keep())]
        try:
            if not await self._worker.take_over(previous, release=self._versions.autolith):
                await self._worker.begin()
            log.info("ready at %s", self._server.address)
            self._tell_starter(READY)
            systemd.notify(self._environ, systemd.READY)
            tasks += [asyncio.create_task(self._worker.keep()), asyncio.create_task(self._tend())]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for task in tasks:
                task.cancel()

    async def _end(self) -> None:
        await self._worker.stop()
        await self._server.stop()
        (self._roots.state / NAME).unlink(missing_ok=True)

    def _on_signal(self) -> None:
        log.info("stopping")
        if self._stopping.is_set():
            self._worker.hurry()
            self._server.hurry()
        self._stopping.set()

    def _previous(self) -> Runtime | None:
        try:
            return read_runtime(self._roots.state)
        except ConfigurationError as error:
            log.warning("%s; going on without it", error)
            return None

    def _publish(self) -> None:
        """Write what runs.  A full disk must not end what runs: then it is written later."""
        self._worker.follow()
        server, worker = self._server, self._worker
        if not server.ports or not server.cluster:
            return
        runtime = Runtime(
            ports=server.ports,
            cluster=server.cluster,
            started=self._started,
            versions=self._versions,
            supervisor=Process.own(),
            server=server.process,
            worker=worker.process,
            is_ready=server.serving.is_set() and worker.serving.is_set(),
            server_restarts=server.restarts.total,
            worker_restarts=worker.restarts.total,
            trouble=server.trouble or worker.trouble,
            environment=worker.digests,
        )
        try:
            publish_runtime(self._roots.state, runtime)
            self._is_published = True
        except UnwritableRootError as error:
            self._is_published = False
            log.error("%s", error)  # noqa: TRY400 -- a message for a person, no trace

    async def _tend(self) -> None:
        """Bound the logs, and repeat what a full disk has prevented."""
        logs = [LogFile(path) for path in self._roots.logs.glob("*.log")]
        while True:
            await asyncio.sleep(_TEND)
            if not self._is_published:
                self._publish()
            for file in logs:
                try:
                    file.shorten()
                except OSError as error:
                    log.error("%s: %s", file.path, error)  # noqa: TRY400 -- as above

    def _tell_starter(self, line: str) -> None:
        with suppress(BrokenPipeError):  # whoever started this has gone, and nobody else asks
            announce(self._environ, line)
