"""The course of the demonstration: give the task, kill the worker twice, wait for the end."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from activities.configuration.locations import STORE_VARIABLE, Roots, store_url
from activities.errors import WorkerFailedError
from activities.provider.registry import ENDPOINT_VARIABLE, KEY_VARIABLES
from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import ScriptedProvider, serve
from activities.store.database import Database
from activities.store.tail import follow
from cli.choice import Choice
from cli.conversations import Conversations
from cli.demo.findings import Findings, Revival, count
from cli.demo.project import Project
from cli.demo.script import TASK, script
from cli.engine import Engine
from worker.embedded.attach import ensure_running
from worker.embedded.runtime_file import read_runtime
from worker.embedded.stop import stop_runtime
from workflows.contracts.event import Event, EventKind
from workflows.contracts.permission import PermissionMode

DEADLINE_SECONDS = 150.0
OWN_VARIABLES = (STORE_VARIABLE, ENDPOINT_VARIABLE, *KEY_VARIABLES, "AUTOLITH_TEMPORAL_ADDRESS")
"""What the person's own Autolith is told, and the demonstration must not hear."""

Say = Callable[[str], None]


async def perform(say: Say) -> Findings:
    """Run the demonstration in a temporary place of its own and return what was found.

    Raises:
        AutolithError: the runtime did not come up, or the task did not end in time.
    """
    with tempfile.TemporaryDirectory(prefix="autolith-demo-") as place:
        project = Project(Path(place))
        project.create()
        async with serve(parse_script(script(project))) as provider:
            roots = _roots(Path(place))
            async with _runtime(roots, provider, say) as address:
                return await _act(_Stage(roots, address, project, provider, say))


class _Stage:
    """Everything that the acts share."""

    def __init__(
        self, roots: Roots, address: str, project: Project, provider: ScriptedProvider, say: Say
    ) -> None:
        self.roots = roots
        self.address = address
        self.project = project
        self.provider = provider
        self.say = say
        self.began = time.monotonic()

    def kill_worker(self) -> float:
        """End the worker as a crash would, and return when."""
        runtime = read_runtime(self.roots.state)
        if runtime is None or runtime.worker is None:
            raise WorkerFailedError("The demonstration found no worker to kill")
        os.kill(runtime.worker.pid, signal.SIGKILL)
        return time.monotonic()


async def _act(stage: _Stage) -> Findings:
    database = Database.open(store_url(stage.roots.data, {}))
    engine = Engine(stage.roots, stage.address, patience=60, on_waiting=lambda _reason: None)
    conversations = Conversations(database, engine, stage.roots)
    try:
        record = await conversations.create(stage.project.root)
        message = await conversations.keep(record, TASK)
        stage.say(f"conversation {record.id}: {TASK}")
        choice = Choice(model="scripted", mode=PermissionMode.FULL)
        await conversations.submit(record, message, choice=choice, is_new=True)
        async with asyncio.timeout(DEADLINE_SECONDS), aclosing(follow(database, record.id)) as log:
            play = _Play(stage)
            async for event in log:
                if event is not None:
                    play.see(event)
                await play.go_on()
                if event is not None and event.kind is EventKind.TURN_ENDED:
                    break
        answered = [r.reply for r in stage.provider.requests if r.outcome == "complete"]
        findings = await count(database, stage.project, record.id, message, answered)
    except TimeoutError:
        raise WorkerFailedError(
            f"The demonstration did not end within {DEADLINE_SECONDS:.0f} seconds"
        ) from None
    else:
        findings.revivals, findings.answer = play.revivals, play.answer
        return findings
    finally:
        database.close()


class _Play:
    """Watches the events, kills at the two chosen moments, and times what follows."""

    def __init__(self, stage: _Stage) -> None:
        self._stage = stage
        self._killed_at: float | None = None
        self._killed: str = ""
        self._stream_seen = False
        self.revivals: list[Revival] = []
        self.answer = ""

    def see(self, event: Event) -> None:
        """Take one event."""
        body = event.body
        if event.kind is EventKind.TEXT and not self.revivals and self._killed_at is None:
            self._stream_seen = True
        if event.kind is EventKind.CALL:
            self._stage.say(f"{body['tool']}: {body['label']}")
        if event.kind is EventKind.ANSWER:
            self.answer = str(body["text"])
        if event.kind is EventKind.ATTEMPT_STARTED and body["attempt"] > 1:
            self._revived(f"request {event.request} was sent again as attempt {body['attempt']}")
        if event.kind is EventKind.CALL_RESUMED:
            verb = "adopted" if body["resumption"] == "adopt" else str(body["resumption"])
            self._revived(f"the running command was {verb}")

    async def go_on(self) -> None:
        """Kill the worker when the moment has come."""
        if self._killed_at is not None:
            return
        if not self.revivals and self._stream_seen:
            self._kill("the model was streaming")
        elif len(self.revivals) == 1 and self._stage.project.runs() == ["first"]:
            self._kill("a shell command was running")

    def _kill(self, what: str) -> None:
        self._killed = what
        self._killed_at = self._stage.kill_worker()
        self._stage.say(f"SIGKILL to the worker while {what}")

    def _revived(self, how: str) -> None:
        if self._killed_at is None:
            return
        seconds = time.monotonic() - self._killed_at
        at = self._killed_at - self._stage.began
        self.revivals.append(Revival(self._killed, at, seconds, how))
        self._stage.say(f"{how}, {seconds:.1f} s after the kill")
        self._killed_at = None


@asynccontextmanager
async def _runtime(
    roots: Roots, provider: ScriptedProvider, say: Say
) -> AsyncGenerator[str, None]:
    inherited = {k: v for k, v in os.environ.items() if k not in OWN_VARIABLES}
    environ = {**inherited, ENDPOINT_VARIABLE: provider.endpoint}
    say("starting supervisor, Temporal server and worker in a temporary place")
    try:
        runtime = await ensure_running(roots, environ=environ)
        yield runtime.address
    finally:
        await stop_runtime(roots)


def _roots(place: Path) -> Roots:
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    return Roots.of({f"XDG_{kind}_HOME": f"{place}/{kind}" for kind in kinds})
