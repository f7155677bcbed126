"""One installation of the product in roots of its own, and whatever may be done to it."""

import asyncio
import os
import select
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from activities.configuration.locations import Roots, store_url
from activities.provider.registry import ENDPOINT_VARIABLE
from activities.provider.scripted.script import Reply
from activities.provider.scripted.server import ScriptedProvider, serve
from activities.shell.environment import EXECUTION_VARIABLE, is_secret
from activities.shell.processes import BOOT_VARIABLE
from activities.store.database import Database
from cli.choice import MODEL_VARIABLE
from cli.conversations import Conversations
from cli.engine import Engine
from tests.product.replies import script
from worker.embedded.attach import ensure_running, supervisor_command
from worker.embedded.ports import Ports
from worker.embedded.process import Process
from worker.embedded.readiness import own_command
from worker.embedded.runtime_file import Runtime, read_runtime
from worker.embedded.stop import stop_runtime
from worker.journal import Entry

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds until a wait has failed: the machine may be slow and busy."""
PAUSE = 0.01
MODEL = "scripted"
"""What a conversation gets that names no model."""
T = TypeVar("T")


class Product:
    """Supervisor, server, worker and a client of them; *supervisor* makes its command line."""

    def __init__(
        self,
        place: Path,
        environment: pytest.MonkeyPatch,
        supervisor: Callable[[int], Sequence[str]] = supervisor_command,
    ) -> None:
        self._environment = environment
        # Below the ephemeral range, so that it is still free when the next test's model serves.
        self._provider_port = Ports.draw().frontend
        self._supervisor = supervisor
        self.home = place / "home"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(REPOSITORY),
            ENDPOINT_VARIABLE: f"http://127.0.0.1:{self._provider_port}/v1",
            MODEL_VARIABLE: MODEL,
        }
        self.roots = Roots.of(self.environ)
        self.roots.create()
        self.database = Database.open(store_url(self.roots.data, {}))
        self.waits: list[str] = []
        """Why the client had to wait for the engine."""
        self.conversations = self.client()

    def client(self) -> Conversations:
        """Return a client that has not connected yet, like the next command of a person."""
        engine = Engine(self.roots, None, patience=PATIENCE, on_waiting=self.waits.append)
        return Conversations(self.database, engine, self.roots)

    async def up(self) -> Runtime:
        """Start what is missing.

        The environment of the tests is the product's from then on: a client in this very
        process starts a supervisor, and compares keys and endpoints, like any other command.
        """
        for name, value in self.environ.items():
            self._environment.setenv(name, value)
        return await ensure_running(
            self.roots, timeout=PATIENCE, environ=self.environ, command=self._supervisor
        )

    async def close(self) -> None:
        """Stop everything, also what a failed test has left running."""
        await stop_runtime(self.roots)
        self.database.close()
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):  # a command dies with its runner
                process.kill()

    @asynccontextmanager
    async def model(self, *replies: Reply) -> AsyncGenerator[ScriptedProvider]:
        """Serve *replies* where the worker expects its provider."""
        async with serve(script(*replies), self._provider_port) as provider:
            yield provider

    def runtime(self) -> Runtime:
        """Return what is published."""
        runtime = read_runtime(self.roots.state)
        assert runtime is not None, "nothing is published"
        return runtime

    def process(self, service: str) -> Process:
        """Return the process of *service*: ``supervisor``, ``server`` or ``worker``."""
        process = getattr(self.runtime(), service)
        assert isinstance(process, Process), f"no {service} runs"
        return process

    def kill(self, service: str) -> Process:
        """End *service* as a crash would, and return who that was; it is gone then."""
        process = self.process(service)
        handle = os.pidfd_open(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        gone = waiting.poll(PATIENCE * 1000)
        os.close(handle)
        assert gone, f"the {service} survives SIGKILL"
        return process

    @contextmanager
    def halted(self, service: str) -> Iterator[Process]:
        """Stop *service* for a while: nothing gets through it."""
        process = self.process(service)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            yield process
        finally:
            os.kill(process.pid, signal.SIGCONT)

    async def until_back(self, service: str, old: Process) -> Runtime:
        """Wait until another process than *old* serves as *service*."""

        def is_back() -> Runtime | None:
            runtime = read_runtime(self.roots.state)
            known = runtime and getattr(runtime, service)
            return runtime if runtime and runtime.is_ready and known not in (None, old) else None

        return await self.until(f"another {service}", is_back)

    async def replace(self, service: str) -> None:
        """Kill *service* and wait until another process serves."""
        await self.until_back(service, self.kill(service))

    async def reboot(self, boot: str) -> None:
        """Cut the power, and start again under the boot id *boot*."""
        first = [self.process(service).pid for service in ("supervisor", "server", "worker")]
        others = [process.pid for process in self.processes() if process.pid not in first]
        for pid in first + others:
            with suppress(ProcessLookupError):  # a command dies with its runner
                os.kill(pid, signal.SIGKILL)
        await self.until("silence", lambda: not self.processes())
        self.environ[BOOT_VARIABLE] = boot
        await self.up()

    def processes(self) -> list[psutil.Process]:
        """Return every living process that was started for this installation."""
        return [
            process
            for process in psutil.process_iter()
            if _environment(process).get("HOME") == str(self.home)
        ]

    def runners(self, execution: str) -> list[psutil.Process]:
        """Return the runner of *execution* and everything below it."""
        return [
            process
            for process in self.processes()
            if execution in _environment(process).get(EXECUTION_VARIABLE, "")
        ]

    @contextmanager
    def locked_store(self) -> Iterator[None]:
        """Keep everybody from writing the store; reading goes on."""
        path = store_url(self.roots.data, {}).removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")

    async def until_running(self, activity: str, workflow: str) -> None:
        """Wait until the in-flight journal holds *activity* of *workflow*."""

        def runs() -> bool:
            entries = map(Entry.model_validate_json, self._inflight())
            return any((e.activity_type, e.workflow) == (activity, workflow) for e in entries)

        await self.until(f"{activity} of {workflow}", runs)

    async def until(self, what: str, fact: Callable[[], T | None]) -> T:
        """Wait until *fact* is true and return it."""

        async def ask() -> T | None:
            return fact()

        return await until(what, ask, self.story)

    async def command(self, *words: str) -> asyncio.subprocess.Process:
        """Start ``autolith WORDS`` as a person would in a terminal of their own."""
        return await asyncio.create_subprocess_exec(
            *own_command(sys.executable, *words),
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def output(self, *words: str) -> str:
        """Run ``autolith WORDS`` to its end, which must be a success, and return what it said."""
        process = await self.command(*words)
        async with asyncio.timeout(PATIENCE):
            said, complained = await process.communicate()
        assert process.returncode == 0, complained.decode()
        return said.decode()

    def story(self) -> str:
        """Return what the processes last wrote, for a person who has to find out."""
        logs = sorted(self.roots.logs.glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text()[-2_000:]}" for log in logs)

    def _inflight(self) -> Iterator[str]:
        for path in (self.roots.state / "inflight").glob("*/*"):
            if path.suffix in (".begun", ".output"):
                try:
                    yield path.read_text()
                except FileNotFoundError:
                    continue  # it ended just now


async def until(what: str, fact: Callable[[], Awaitable[T | None]], story: Callable[[], str]) -> T:
    """Wait until *fact* is true and return it; *story* tells what there was instead."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not (found := await fact()):
                await asyncio.sleep(PAUSE)
    except TimeoutError:
        pytest.fail(f"waited {PATIENCE:g} s in vain for {what}\n{story()}")
    return found


@asynccontextmanager
async def installed(
    place: Path, supervisor: Callable[[int], Sequence[str]] = supervisor_command
) -> AsyncIterator[Product]:
    """Bring a product up below *place*, and end it with everything it has started."""
    with pytest.MonkeyPatch.context() as environment:
        for name in list(os.environ):
            if is_secret(name) or name.startswith("AUTOLITH_"):
                environment.delenv(name)
        product = Product(place, environment, supervisor)
        try:
            await product.up()
            yield product
        finally:
            await product.close()


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return {}
        return process.environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return {}
