"""What a session knows of its conversation: every event, and the engine's word now and then."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any

from temporalio.client import Client

from activities.errors import ConversationError
from activities.store import events, tail
from cli.terminal import rows
from cli.terminal.dialogue import Dialogue
from cli.terminal.screen import Screen
from cli.terminal.status_line import Link
from cli.terminal.transcript import Transcript
from workflows.contracts.conversation import ConversationStatus

HISTORY_EVENTS = 500
"""How many events an attached screen shows again."""
FRAME = 0.1
BUSY_LOOK, IDLE_LOOK = 2.0, 10.0
"""How often the engine is asked, in seconds, while a turn runs and otherwise."""


class Watch:
    """Feeds a screen."""

    def __init__(
        self, dialogue: Dialogue, screen: Screen, is_restless: Callable[[], bool]
    ) -> None:
        self.transcript = Transcript()
        self.status: ConversationStatus | None = None
        self.link = Link.STARTING
        self._dialogue = dialogue
        self._screen = screen
        self._is_restless = is_restless
        self._look_now = asyncio.Event()
        dialogue.conversations.listen(self._on_waiting)

    def works(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return the works that have to run as long as the screen does."""
        return self._follow(), self._ask(), self._animate()

    @property
    def is_busy(self) -> bool:
        """Whether there is a turn to cancel, or one about to begin."""
        about_to_begin = self._dialogue.started > self.transcript.newest
        return (
            self.transcript.turn is not None or about_to_begin or bool(self._dialogue.undelivered)
        )

    def look(self) -> None:
        """Ask the engine soon: something has just been asked of it."""
        self._look_now.set()

    async def _follow(self) -> None:
        """Show every event, those of the past first."""
        name = (await self._dialogue.opened()).id
        database = self._dialogue.conversations.database
        cursor = await database.read(lambda tx: events.before_newest(tx, name, HISTORY_EVENTS))
        if cursor:
            earlier = f"… what was before: autolith show {name}"
            self._screen.print(rows.plain(earlier, self._screen.width, "dim"))
        is_stale = False
        async with aclosing(tail.follow(database, name, cursor)) as followed:
            async for event in followed:
                if event is not None:
                    self._screen.print(self.transcript.take(event, self._screen.width))
                elif is_stale:
                    self._screen.refresh()
                is_stale = event is not None

    async def _ask(self) -> None:
        """Ask the engine now and then where the conversation stands."""
        await self._dialogue.conversations.engine(_answers)
        self.link = Link.CONNECTED
        while True:
            asked_at, underway = time.time(), set(self._dialogue.undelivered)
            try:
                self.status = await self._dialogue.status()
            except ConversationError:
                # No workflow serves it: nothing runs, and the next message starts one.
                self.status = None
            await self._reconcile(asked_at, underway)
            pause = IDLE_LOOK if self.transcript.turn is None else BUSY_LOOK
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look_now.wait(), pause)
            self._look_now.clear()

    async def _reconcile(self, asked_at: float, underway: set[str]) -> None:
        """Let go of what the engine does not know, once the events had their chance."""
        status, turn = self.status, self.transcript.turn
        if not self._dialogue.is_new:
            known = set(status.queue + status.steering) if status else set()
            self.transcript.forget_waiting(known | underway, before=asked_at)
        if turn is not None and (status is None or status.running != turn):
            await asyncio.sleep(BUSY_LOOK)
            if self.transcript.turn == turn:
                self._screen.print(self.transcript.settle(self._screen.width))
        self._screen.refresh()

    async def _animate(self) -> None:
        while True:
            await asyncio.sleep(FRAME)
            if (
                self.transcript.turn is not None
                or self.link is not Link.CONNECTED
                or self._is_restless()
            ):
                self._screen.refresh()

    def _on_waiting(self, reason: str) -> None:
        """Hear why the engine does not answer; nothing when it does."""
        if self.link is not Link.STARTING:
            self.link = Link.RECONNECTING if reason else Link.CONNECTED
        self._screen.refresh()


async def _answers(client: Client) -> bool:
    return await client.service_client.check_health()
