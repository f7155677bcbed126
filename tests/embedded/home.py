"""A set of roots of its own, with the product's supervisor and a stand-in for a worker."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from activities.configuration.locations import Roots
from worker.embedded.attach import ensure_running, find_runtime
from worker.embedded.ports import LOOPBACK
from worker.embedded.process import Process
from worker.embedded.runtime_file import Runtime, read_runtime
from worker.embedded.stop import stop_runtime

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs")
PATIENCE = 60.0


def program(name: str, *arguments: str) -> list[str]:
    """Return the command line of one of the small programs."""
    return [sys.executable, "-P", str(PROGRAMS / f"{name}.py"), *arguments]


def supervisor_command(port: int) -> Sequence[str]:
    """Return the command line of the supervisor whose worker is a stand-in."""
    chosen = [str(port)] if port else []
    return program("supervisor", *chosen)


class Home:
    """One account's roots below *directory*."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "PYTHONPATH": str(REPOSITORY),
        }
        self.roots = Roots.of(self.environ)

    @property
    def state(self) -> Path:
        """The state root."""
        return self.roots.state

    async def up(
        self, environ: Mapping[str, str] | None = None, *, port: int = 0, timeout: float = PATIENCE
    ) -> Runtime:
        """Attach, starting what is missing."""
        return await ensure_running(
            self.roots,
            port=port,
            timeout=timeout,
            environ={**self.environ, **(environ or {})},
            command=supervisor_command,
        )

    async def found(self) -> Runtime:
        """Return what runs and is ready."""
        return await find_runtime(self.roots)

    async def down(self) -> bool:
        """Stop everything."""
        return await stop_runtime(self.roots)

    def published(self) -> Runtime:
        """Return what the file says."""
        runtime = read_runtime(self.state)
        assert runtime is not None
        return runtime

    async def until(self, fact: Callable[[Runtime], bool]) -> Runtime:
        """Wait until something is published for which *fact* holds, and return it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                runtime = read_runtime(self.state)
                if runtime is not None and fact(runtime):
                    return runtime
                await asyncio.sleep(0.02)

    async def until_log(self, name: str, words: str) -> None:
        """Wait until one log holds *words*."""
        async with asyncio.timeout(PATIENCE):
            while words not in self.log(name):
                await asyncio.sleep(0.02)

    def processes(self) -> list[psutil.Process]:
        """Return every living process that was started for these roots."""
        return list(_started_below(self.directory))

    def log(self, name: str) -> str:
        """Return the content of one log."""
        return (self.roots.logs / f"{name}.log").read_text()


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Kill what a test has started."""
    os.kill(pid, number)


async def until_gone(pid: int) -> None:
    """Wait until *pid* has ended."""
    async with asyncio.timeout(PATIENCE):
        while (process := Process.of(pid)) and process.is_alive:
            await asyncio.sleep(0.02)


def occupied(port: int = 0) -> socket.socket:
    """Return a socket of another program that listens at *port*."""
    return socket.create_server((LOOPBACK, port))


def _started_below(directory: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            home = process.environ().get("HOME")
            if home == str(directory) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
