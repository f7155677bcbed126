"""One process, told apart from any other that is ever given the same pid.

Waiting and signalling go through a pidfd, which keeps naming the process it was
opened for.  So a dead pid that another program was given is never waited for and
never signalled.
"""

import asyncio
import errno
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activities.shell import processes


@dataclass(frozen=True, slots=True)
class Process:
    """The lasting name of a process: its pid, its start in clock ticks, and the boot."""

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """Return the process that has *pid* now, also one that has ended and was not reaped."""
        found = processes.find(pid)
        return cls(pid, found.start, processes.boot()) if found else None

    @classmethod
    def own(cls) -> "Process":
        """Return this process."""
        own = cls.of(os.getpid())
        assert own is not None  # noqa: S101 -- whoever runs this line is there
        return own

    @property
    def is_alive(self) -> bool:
        """Whether any thread of it still runs."""
        handle = _handle(self)
        if handle is not None:
            os.close(handle)
        return handle is not None


def _handle(process: Process) -> int | None:
    """Return a pidfd of *process* while it runs.

    The pidfd tells the end of the last thread, with which the locks and ports go.  The
    state in ``/proc`` is that of the first thread, which may be gone much earlier.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL):
            return None
        raise
    # Only now that the handle is fixed does a comparison prove anything.
    if Process.of(process.pid) == process and not _has_ended(handle):
        return handle
    os.close(handle)
    return None


def _has_ended(handle: int) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(0))


class Watched:
    """A process whose end is noticed at once, whether it was started here or adopted."""

    def __init__(self, process: Process, handle: int, popen: "subprocess.Popen[bytes] | None"):
        self.process = process
        self._handle = handle
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[int | None] = self._loop.create_future()
        self._loop.add_reader(handle, self._ended)

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        log: int,
        inherited: Sequence[int] = (),
    ) -> "Watched":
        """Start *command* in a session of its own; it writes to *log* and sees no terminal.

        Its files are private, and of our descriptors it has those in *inherited* only.
        """
        popen = subprocess.Popen(  # noqa: S603 -- our own programs, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=dict(environ),
            pass_fds=inherited,
            start_new_session=True,
            umask=0o077,
        )
        # It may have ended already, but is not reaped, so the pid is still its own.
        process = Process.of(popen.pid)
        assert process is not None  # noqa: S101 -- see above
        return cls(process, os.pidfd_open(popen.pid), popen)

    @classmethod
    def adopt(cls, process: Process) -> "Watched | None":
        """Watch a process that somebody else started; return None when it is gone."""
        handle = _handle(process)
        return None if handle is None else cls(process, handle, None)

    @property
    def has_ended(self) -> bool:
        """Whether its end was noticed."""
        return self._end.done()

    async def ended(self) -> int | None:
        """Wait for its end and return the exit status, which an adopted one cannot tell."""
        return await asyncio.shield(self._end)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self._end.done():
            return
        try:
            signal.pidfd_send_signal(self._handle, number)
        except ProcessLookupError:
            return  # its end is about to be noticed

    async def stop(self, grace: float) -> int | None:
        """Ask it to end, and make it end after *grace* seconds."""
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                return await self.ended()
        except TimeoutError:
            self.send(signal.SIGKILL)
        return await self.ended()

    def forget(self) -> None:
        """Stop watching it without touching it."""
        if not self._end.done():
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._end.cancel()

    def _ended(self) -> None:
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self._end.set_result(self._popen.wait() if self._popen else None)
