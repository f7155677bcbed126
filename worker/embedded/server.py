"""The Temporal server of one state root, tuned for a single machine.

Every value below was measured (temporal facts, 1.3).  The one history shard polls 20
times a second by default, so an agent's every step would wait for it.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.errors import ServerFailedError
from worker.embedded.binary import Binary
from worker.embedded.lock import locked, sign, signer
from worker.embedded.log_file import LogFile
from worker.embedded.ports import LOOPBACK, Ports, listens
from worker.embedded.process import Watched

PRAGMAS: Final = ("journal_mode=WAL", "synchronous=FULL")
"""WAL saves 40% of the server's CPU; FULL makes an acknowledged input survive a power cut."""
DYNAMIC: Final = {
    "history.transferProcessorMaxPollRPS": "2000",
    "history.timerProcessorMaxPollRPS": "2000",
    "history.visibilityProcessorMaxPollRPS": "2000",
    "history.outboundProcessorMaxPollRPS": "2000",
    "history.timerProcessorMaxTimeShift": '"10ms"',
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
    "frontend.WorkerCommandsEnabled": "true",
    "system.enableCancelActivityWorkerCommand": "true",
    "limit.blobSize.warn": "2097152",
}
"""Poll rates, timer granularity, one partition per queue, and pushed cancellation."""

ENVIRONMENT: Final = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What the server may know.  It needs no key of any provider, so it gets none."""

LOCK: Final = "server.lock"
STOP: Final = 10.0
"""Seconds; an ordinary stop takes 1.2."""
_START: Final = 30.0
_POLL: Final = 0.02
_PORT_DRAWS: Final = 3


class Server:
    """Starts the server on its database file, of which there is one per server version.

    The file is never migrated by a newer server, hence the version in its name.
    """

    def __init__(self, state: Path, logs: Path, binary: Binary, environ: Mapping[str, str]):
        self.binary = binary
        self.database = state / f"temporal-{binary.server}.db"
        self.log = LogFile(logs / "server.log")
        self._lock = state / LOCK
        self._environ = {name: environ[name] for name in ENVIRONMENT if name in environ}

    def command(self, ports: Ports) -> list[str]:
        """Return the command line that serves at *ports*."""
        flags = {
            "--ip": LOOPBACK,
            "--port": str(ports.frontend),
            "--http-port": str(ports.http),
            "--metrics-port": str(ports.metrics),
            "--ui-ip": LOOPBACK,
            "--ui-port": str(ports.ui),
            "--db-filename": str(self.database),
            "--log-level": "warn",
        }
        return [
            *(str(self.binary.path), "server", "start-dev"),
            *("--disable-config-file", "--disable-config-env", "--ui-disable-news-fetch"),
            *(word for flag in flags.items() for word in flag),
            *(word for pragma in PRAGMAS for word in ("--sqlite-pragma", pragma)),
            *(
                word
                for key, value in DYNAMIC.items()
                for word in ("--dynamic-config-value", f"{key}={value}")
            ),
        ]

    async def start(self, ports: Ports | None, *, frontend: int) -> tuple[Watched, Ports]:
        """Start the server and return it with its ports, as soon as it listens.

        *ports* are tried first, so that a server that died comes back where its clients
        look for it.  *frontend* is the port a person asked for, or 0.

        Raises:
            PortTakenError: *frontend* is in use.
            LockHeldError: a server that is not ours has the database open.
            ServerFailedError: it did not come up.
        """
        start = self.log.size()
        for _ in range(_PORT_DRAWS):
            chosen = ports if ports and ports.are_free else Ports.draw(frontend)
            watched = await self._attempt(chosen)
            if watched:
                return watched, chosen
            if chosen.are_free:
                break  # then the ports were not the reason
        said = self.log.last_line(after=start) or "it says nothing"
        raise ServerFailedError(
            f"The Temporal server did not come up: {said} (see {self.log.path})"
        )

    async def end_stray(self) -> None:
        """End a server of ours that has the database open though nobody watches it."""
        if (stray := signer(self._lock)) and (watched := Watched.adopt(stray)):
            await watched.stop(STOP)

    async def _attempt(self, ports: Ports) -> Watched | None:
        """Start the server and return it when it serves; otherwise nothing is left of it."""
        watched = self._spawn(ports)
        serves = False
        try:
            serves = await self._serves(watched, ports)
        finally:
            if not serves:
                await watched.stop(STOP)
        return watched if serves else None

    def _spawn(self, ports: Ports) -> Watched:
        held = f"{self.database}: is open in a server that this Autolith did not start"
        log = self.log.open()
        try:
            with locked(self._lock, held=held) as lock:
                watched = Watched.start(
                    self.command(ports), environ=self._environ, log=log, inherited=(lock,)
                )
                sign(lock, watched.process)
        except OSError as error:
            raise ServerFailedError(f"{self.binary.path}: cannot be run: {error}") from error
        finally:
            os.close(log)
        return watched

    async def _serves(self, watched: Watched, ports: Ports) -> bool:
        """Wait until *watched* itself listens; return False if it ended or hangs."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _START
        while not watched.has_ended and loop.time() < deadline:
            # Whoever answers there: only the process that we started counts.
            if listens(watched.process.pid, ports.frontend, ports.http, ports.ui):
                return True
            await asyncio.sleep(_POLL)
        return False
