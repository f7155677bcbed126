"""Wait for a process that need not be our child."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from activities.shell import processes


@contextmanager
def exit_of(pid: int, start: int) -> Iterator[asyncio.Event]:
    """Lend an event that is set once the process *pid* of *start* has ended."""
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        ended.set()
        yield ended
        return
    loop = asyncio.get_running_loop()
    try:
        # The descriptor pins the pid: from here on it cannot become another process.
        if not processes.is_running(pid, start):
            ended.set()
        loop.add_reader(descriptor, ended.set)
        yield ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
