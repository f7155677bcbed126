"""The stage of every figure: one embedded runtime in a temporary place, driven from outside."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil
from temporalio.client import Client

from activities.configuration.locations import Roots, store_url
from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import ScriptedProvider, serve
from activities.store import events
from activities.store.conversations import ConversationRecord
from activities.store.database import Database
from activities.store.tail import follow
from cli.choice import Choice
from cli.conversations import Conversations
from cli.engine import Engine
from tests.bench.floor import ONE_TURN, QUEUE, FloorParent
from worker.connection import connect
from worker.embedded.attach import ensure_running
from worker.embedded.runtime_file import read_runtime
from worker.embedded.stop import stop_runtime
from workflows.contracts.event import Event, EventKind
from workflows.contracts.permission import PermissionMode

DEADLINE_SECONDS = 300

SCRIPT = """
(:version 1 :replies (
  (:when (:user "one tool" :results-in-turn 0) :repeat t
   :calls ((:tool "resource.read" :arguments (:uri "workspace:small.txt"))))
  (:when (:user "many tools" :results-in-turn (0 99)) :repeat t
   :calls ((:tool "resource.read" :arguments (:uri "workspace:five.txt"))))
  (:when (:user "stream") :repeat t :first-delay 0.02 :delay 0.02 :piece 8
   :text "It begins at once and goes on for a little while, word by word.")
  (:when (:user "endless") :repeat t :delay 0.1 :piece 8 :text "%s")
  (:when (:user "command" :results-in-turn 0) :repeat t
   :calls ((:tool "shell.run" :arguments (:command "echo ran >> ran.txt; sleep 4"))))
  (:text "done" :repeat t)))
""" % ("and so on, and so on. " * 400)


@dataclass
class Stage:
    """A running product, the floor's worker beside it, and clients for both."""

    roots: Roots
    workspace: Path
    address: str
    conversations: Conversations
    sealed: Client
    plain: Client
    provider: ScriptedProvider
    floor: psutil.Process

    @property
    def worker(self) -> psutil.Process:
        """The product's worker process."""
        runtime = read_runtime(self.roots.state)
        assert runtime is not None
        assert runtime.worker is not None
        return psutil.Process(runtime.worker.pid)

    def kill_worker(self) -> float:
        """End the worker as a crash would; return the time of day."""
        os.kill(self.worker.pid, signal.SIGKILL)
        return time.time()

    async def create(self) -> ConversationRecord:
        """Open a conversation."""
        return await self.conversations.create(self.workspace)

    async def turn(self, record: ConversationRecord, text: str, *, is_new: bool = False) -> float:
        """Run one turn and return how many seconds passed until its end was seen."""
        started = time.perf_counter()
        await self.until(record, text, EventKind.TURN_ENDED, is_new=is_new)
        return time.perf_counter() - started

    async def until(
        self, record: ConversationRecord, text: str, kind: EventKind, *, is_new: bool = False
    ) -> Event:
        """Submit *text* and return the first event of *kind* that follows."""
        database = self.conversations.database
        cursor = await database.read(lambda tx: events.last(tx, record.id))
        message = await self.conversations.keep(record, text)
        choice = Choice(model="scripted", mode=PermissionMode.FULL) if is_new else None
        await self.conversations.submit(record, message, choice=choice, is_new=is_new)
        return await self.event(record, cursor, lambda event: event.kind is kind)

    async def event(
        self, record: ConversationRecord, cursor: int, wanted: Callable[[Event], bool]
    ) -> Event:
        """Return the first wanted event after *cursor*."""
        found = follow(self.conversations.database, record.id, cursor)
        async with asyncio.timeout(DEADLINE_SECONDS), aclosing(found) as log:
            async for event in log:
                if event is not None and wanted(event):
                    return event
        raise AssertionError("the log ended")

    async def floor_turn(self, activities: int = ONE_TURN) -> float:
        """Run the floor's parent and child; return how many seconds that took."""
        started = time.perf_counter()
        await self.plain.execute_workflow(
            FloorParent.run, activities, id=f"floor-{uuid4()}", task_queue=QUEUE
        )
        return time.perf_counter() - started


@asynccontextmanager
async def open_stage() -> AsyncGenerator[Stage]:
    """Start everything in a temporary place, and take it down again."""
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="autolith-bench-")))
        provider = await stack.enter_async_context(serve(parse_script(SCRIPT), remember=False))
        roots = roots_in(place)
        stack.push_async_callback(stop_runtime, roots)
        runtime = await ensure_running(roots, environ=environment(provider.endpoint))
        database = Database.open(store_url(roots.data, {}))
        stack.callback(database.close)
        engine = Engine(roots, runtime.address, patience=60, on_waiting=lambda _: None)
        floor = _start_floor(runtime.address)
        stack.callback(floor.kill)
        yield Stage(
            roots=roots,
            workspace=workspace_in(place),
            address=runtime.address,
            conversations=Conversations(database, engine, roots),
            sealed=await connect(runtime.address, roots),
            plain=await Client.connect(runtime.address),
            provider=provider,
            floor=psutil.Process(floor.pid),
        )


def roots_in(place: Path) -> Roots:
    """Return roots below *place*."""
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    return Roots.of({f"XDG_{kind}_HOME": f"{place}/{kind}" for kind in kinds})


def environment(endpoint: str) -> dict[str, str]:
    """Return what the runtime is told."""
    return {**os.environ, "AUTOLITH_OPENAI_ENDPOINT": endpoint}


def workspace_in(place: Path) -> Path:
    """Return a small project below *place*."""
    workspace = place / "project"
    workspace.mkdir()
    (workspace / "small.txt").write_text("hello\n")
    (workspace / "five.txt").write_text("the quick brown fox jumps over\n" * 165)
    return workspace


def _start_floor(address: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.bench.floor", address]
    floor = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert floor.stdout is not None
    assert floor.stdout.readline() == b"ready\n"
    return floor


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)
