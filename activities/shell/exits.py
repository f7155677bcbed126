"""Watch and signal a process that need not be our child."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from activities.shell import processes


class WatchedProcess:
    """A process that cannot be mistaken for another one that gets its pid later."""

    def __init__(self, descriptor: int | None) -> None:
        self.ended = asyncio.Event()
        self._descriptor = descriptor
        if descriptor is None:
            self.ended.set()

    def send(self, number: int) -> None:
        """Signal the process, if it still runs."""
        if self._descriptor is None:
            return
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except ProcessLookupError:
            return

    async def ends_within(self, seconds: float) -> bool:
        """Wait for the end at most *seconds* and tell whether it came."""
        try:
            async with asyncio.timeout(seconds):
                return await self.ended.wait()
        except TimeoutError:
            return False


@contextmanager
def watching(pid: int, start: int) -> Iterator[WatchedProcess]:
    """Watch the process that started as *pid* at *start*; it may have ended already."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield WatchedProcess(None)
        return
    loop = asyncio.get_running_loop()
    try:
        # The descriptor pins the pid: what is true of it now stays true.
        if not processes.is_running(pid, start):
            yield WatchedProcess(None)
            return
        process = WatchedProcess(descriptor)
        loop.add_reader(descriptor, process.ended.set)
        yield process
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
