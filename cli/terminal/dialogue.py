"""One conversation as a session speaks to it; it begins with the first message.

What is typed is kept in the store at once, in order, whatever the engine does; then
it is delivered, in order, as soon as the engine takes it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from activities.errors import AutolithError
from activities.store.conversations import ConversationRecord
from cli.choice import Choice
from cli.conversations import Conversations, how_to_resend
from cli.failures import complain
from workflows.contracts.conversation import ConversationStatus, Delivery, Disposition, Receipt
from workflows.contracts.permission import Answer


class Dialogue:
    """The messages of a session on their way to one conversation."""

    def __init__(
        self,
        conversations: Conversations,
        *,
        record: ConversationRecord | None,
        workspace: Path,
        choice: Choice,
    ) -> None:
        self.conversations = conversations
        self.record = record
        self.choice = choice
        self._has_begun = asyncio.Event()
        self.is_new = record is None
        """Whether the engine has yet to hear of it."""
        self._workspace = workspace
        self.on_failure: Callable[[str], None] = complain
        """Hears why a message was not sent."""
        self._typed: asyncio.Queue[tuple[str, Delivery]] = asyncio.Queue()
        self._kept: asyncio.Queue[tuple[str, Delivery]] = asyncio.Queue()
        self.undelivered: list[str] = []
        """Messages that are kept, and that the engine has not taken yet."""
        self.started = 0
        """The newest turn that a message of ours has started."""
        if record is not None:
            self._has_begun.set()

    def say(self, text: str, delivery: Delivery) -> None:
        """Take a message that was typed."""
        self._typed.put_nowait((text, delivery))

    async def keep_typed(self) -> None:
        """Make each typed message durable, for ever."""
        while True:
            text, delivery = await self._typed.get()
            try:
                message = await self.conversations.keep(await self._opened(), text, delivery)
            except AutolithError as error:
                self.on_failure(f"not sent: {error}")
            else:
                self.undelivered.append(message)
                self._kept.put_nowait((message, delivery))
            self._typed.task_done()

    async def deliver_kept(self) -> None:
        """Deliver each kept message, for ever."""
        while True:
            message, delivery = await self._kept.get()
            try:
                receipt = await self._submit(message, delivery)
            except AutolithError as error:
                self.on_failure(str(error))
            else:
                self.is_new = False
                if receipt.disposition is Disposition.STARTED:
                    self.started = receipt.turn or self.started
            self.undelivered.remove(message)
            self._kept.task_done()

    async def _submit(self, message: str, delivery: Delivery) -> Receipt:
        return await self.conversations.submit(
            await self._opened(),
            message,
            delivery=delivery,
            choice=self.choice if self.is_new else None,
            is_new=self.is_new,
        )

    async def configure(self, choice: Choice) -> None:
        """Change what later turns use; a conversation yet to begin begins with it."""
        self.choice = self.choice.overridden_by(choice)
        if self.record is not None and not self.is_new:
            await self.conversations.configure(self.record, choice)

    async def status(self) -> ConversationStatus | None:
        """Return what the engine says, None before the first message was taken."""
        if self.record is None or self.is_new:
            return None
        return await self.conversations.status(self.record)

    async def cancel(self, turn: int | None, *, hold_queue: bool) -> None:
        """Cancel *turn* if it still runs, or whichever does.

        What was typed before comes first: a message that arrives later would let go
        of the queue again.
        """
        await self._typed.join()
        await self._kept.join()
        if self.record is not None:
            await self.conversations.cancel(self.record, turn=turn, hold_queue=hold_queue)

    async def decide(self, request: str, answer: Answer) -> None:
        """Answer an open question."""
        if self.record is not None:
            await self.conversations.decide(self.record, request, answer)

    async def opened(self) -> ConversationRecord:
        """Wait for the first message and return the conversation that it began."""
        await self._has_begun.wait()
        return await self._opened()

    def parting(self) -> list[str]:
        """Say how to come back, and what was not delivered."""
        if self.record is None:
            return []
        record = self.record
        lines = [how_to_resend(record, message) for message in self.undelivered]
        return [*lines, f"autolith attach {record.id}"]

    async def _opened(self) -> ConversationRecord:
        if self.record is None:
            self.record = await self.conversations.create(self._workspace)
            self._has_begun.set()
        return self.record
