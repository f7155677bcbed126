"""One process that has to run for as long as the supervisor does."""

import asyncio
import logging
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NoReturn

from activities.errors import AutolithError
from worker.embedded.process import Process, Watched
from worker.embedded.restarts import Restarts

log = logging.getLogger("autolith.supervisor")


class Service(ABC):
    """Keeps one process running.

    ``serving`` is set while it does its work; ``trouble`` says why it does not, and
    *changed* is called whenever any of this becomes different.
    """

    name: str
    grace: float
    """Seconds between asking the process to end and ending it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.watched: Watched | None = None
        self.serving = asyncio.Event()
        self.trouble = ""
        self.restarts = Restarts()
        self._since = 0.0

    @property
    def process(self) -> Process | None:
        """The process, while it runs."""
        return self.watched.process if self.watched and not self.watched.has_ended else None

    @abstractmethod
    async def start(self) -> None:
        """Start the process, set ``watched`` to it, and return when it serves.

        Raises:
            AutolithError: it does not come up; what was started has been ended.
        """

    async def begin(self) -> None:
        """Start the process for the first time.

        Raises:
            AutolithError: it does not come up.
        """
        await self.start()
        self.is_serving()

    async def keep(self) -> NoReturn:
        """Start the process again whenever it ends."""
        while True:
            served, status = await self._until_end()
            delay = self.restarts.delay(served)
            self.trouble = f"the {self.name} {_described(status)}"
            log.warning("%s; starting it again in %g s", self.trouble, delay)
            self.changed()
            await asyncio.sleep(delay)
            try:
                await self.start()
            except AutolithError as error:
                self.trouble = str(error)
                log.error("%s", error)  # noqa: TRY400 -- a message for a person, no trace
                self.changed()
            else:
                self.is_serving()

    async def stop(self) -> None:
        """End the process gracefully."""
        if self.watched:
            await self.watched.stop(self.grace)
            log.info("the %s has ended", self.name)

    def hurry(self) -> None:
        """End the process at once."""
        if self.watched:
            self.watched.send(signal.SIGKILL)

    def is_serving(self) -> None:
        """Note that the process does its work from now on."""
        self._since = asyncio.get_running_loop().time()
        self.trouble = ""
        self.serving.set()
        self.changed()

    async def _until_end(self) -> tuple[float, int | None]:
        """Return how long the process served, and its exit status."""
        status = await self.watched.ended() if self.watched else None
        served = asyncio.get_running_loop().time() - self._since if self.serving.is_set() else 0.0
        self.serving.clear()
        return served, status


def _described(status: int | None) -> str:
    if status is None:  # an adopted process reports to init
        return "has ended"
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
