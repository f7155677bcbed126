"""The server, kept running at one address, and recognised by the database it serves."""

import asyncio
from collections.abc import Callable

from activities.errors import ServerFailedError, ServerUnreachableError
from worker.embedded.cluster import served_cluster
from worker.embedded.namespace import attribute_names, prepare
from worker.embedded.ports import Ports, listens
from worker.embedded.process import Watched
from worker.embedded.runtime_file import Runtime
from worker.embedded.server import STOP, Server
from worker.embedded.service import Service


class ServerService(Service):
    """Keeps *server* running, at *port* if one was asked for."""

    name = "server"
    grace = STOP

    def __init__(self, server: Server, *, port: int, changed: Callable[[], None]) -> None:
        super().__init__(changed)
        self.ports: Ports | None = None
        self.cluster = ""
        self._server = server
        self._port = port

    @property
    def address(self) -> str:
        """Where clients find the server, once it has been started."""
        return self.ports.address if self.ports else ""

    async def start(self) -> None:
        """Start the server where it was before, if that is free, and set it up."""
        names = asyncio.create_task(attribute_names())
        self.watched, self.ports = await self._server.start(self.ports, frontend=self._port)
        try:
            await prepare(self._server.binary.path, self.ports.address, await names)
            self.cluster = await served_cluster(self.ports.http)
        except (ServerFailedError, ServerUnreachableError) as error:
            await self.watched.stop(STOP)
            raise ServerFailedError(str(error)) from error

    async def take_over(self, previous: Runtime | None) -> bool:
        """Adopt the server of *previous* if it is this one and serves; else end it."""
        if previous is not None:
            self.ports = self._wanted(previous.ports)
            if await self._adopt(previous):
                self.is_serving()
                return True
        await self._server.end_stray()
        return False

    def _wanted(self, ports: Ports) -> Ports | None:
        return ports if self._port in (0, ports.frontend) else None

    async def _adopt(self, previous: Runtime) -> bool:
        binary = self._server.binary
        same = (previous.versions.server, previous.versions.cli) == (binary.server, binary.version)
        if not same or not self.ports or not previous.server:
            return False
        watched = Watched.adopt(previous.server)
        if watched is None:
            return False
        if not await _serves(watched, previous):
            watched.forget()
            return False
        self.watched, self.cluster = watched, previous.cluster
        return True


async def _serves(watched: Watched, previous: Runtime) -> bool:
    if not listens(watched.process.pid, previous.ports.frontend, previous.ports.http):
        return False
    try:
        return await served_cluster(previous.ports.http) == previous.cluster
    except ServerUnreachableError:
        return False
