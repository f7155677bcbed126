"""One conversation with the product, and everything that can be seen of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from activities.provider.scripted.server import ScriptedProvider, ServedRequest
from activities.provider.wire import pairing_faults
from activities.store import events, items, requests, turns
from activities.store.conversations import ConversationRecord
from activities.store.items import PlacedItem
from activities.store.requests import AttemptRecord
from cli.choice import Choice
from tests.product.harness import MODEL, Product, until
from workflows.contracts.conversation import ConversationStatus
from workflows.contracts.event import DELTAS, Event, EventKind
from workflows.contracts.item import CallItem, ResultItem, UserItem
from workflows.contracts.key import TurnKey
from workflows.contracts.permission import Answer, PermissionMode
from workflows.policy import identity

T = TypeVar("T")


class Talk:
    """A conversation in a workspace of its own, with a model that follows a script."""

    def __init__(
        self,
        product: Product,
        record: ConversationRecord,
        provider: ScriptedProvider,
        model: str,
    ) -> None:
        self.product = product
        self.record = record
        self.workspace = Path(record.workspace)
        self.seen: list[Event] = []
        """Every event in order, also those that were pruned after they had been seen."""
        self._provider = provider
        self._model = model
        self._is_new = True

    @classmethod
    async def open(
        cls, product: Product, provider: ScriptedProvider, place: Path, model: str = MODEL
    ) -> "Talk":
        """Begin a conversation in a new directory *place*."""
        place.mkdir()
        record = await product.conversations.create(place)
        return cls(product, record, provider, model)

    async def say(self, text: str = "Go on.", mode: PermissionMode = PermissionMode.FULL) -> str:
        """Send a message, see it acknowledged, and return its id."""
        message = await self.product.conversations.keep(self.record, text)
        await self.submit(message, mode)
        return message

    async def submit(self, message: str, mode: PermissionMode = PermissionMode.FULL) -> None:
        """Have the engine take a message that is kept."""
        choice = Choice(self._model, mode=mode) if self._is_new else Choice()
        await self.product.conversations.submit(
            self.record, message, choice=choice, is_new=self._is_new
        )
        self._is_new = False

    async def decide(self, request: str, answer: Answer) -> None:
        """Answer an open question."""
        await self.product.conversations.decide(self.record, request, answer)

    @property
    def requests(self) -> list[ServedRequest]:
        """What the model was sent by this conversation, in order."""
        return [r for r in self._provider.requests if r.body.get("model") == self._model]

    async def until_asked(self, times: int = 1) -> None:
        """Wait until the model has been sent so many requests."""
        await self.until(f"request {times}", lambda _: len(self.requests) >= times)

    def told(self, request: int = -1) -> list[str]:
        """Return the tool results that a request holds."""
        messages = self.requests[request].body["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]

    def heard(self, request: int = -1) -> list[str]:
        """Return what was said to the model as user."""
        messages = self.requests[request].body["messages"]
        return [message["content"] for message in messages if message["role"] == "user"]

    def effects(self, name: str = "effects") -> list[str]:
        """Return the lines that commands and tools have left in the workspace."""
        path = self.workspace / name
        return path.read_text().splitlines() if path.exists() else []

    async def until_effect(self, line: str) -> None:
        """Wait until *line* is among the effects."""
        await self.until(f"effect {line!r}", lambda _: line in self.effects())

    def allow(self, label: str) -> None:
        """Let the command that is gated by *label* end."""
        (self.workspace / f"go-{label}").touch()

    def turn_workflow(self, turn: int = 1) -> str:
        """Return the id of a turn's workflow."""
        return identity.turn(TurnKey(conversation=self.record.id, turn=turn))

    async def until(self, what: str, fact: Callable[[Sequence[Event]], T | None]) -> T:
        """Wait until *fact* is true of the events so far, and return it."""

        async def ask() -> T | None:
            await self._look()
            return fact(self.seen)

        return await until(what, ask, self._story)

    async def event(self, kind: EventKind, *, turn: int = 1, **body: object) -> Event:
        """Wait for an event of *kind* that says *body*."""

        def find(seen: Sequence[Event]) -> Event | None:
            fitting = (e for e in seen if e.kind is kind and e.turn in (0, turn))
            return next((e for e in fitting if body.items() <= e.body.items()), None)

        return await self.until(f"{kind.value} {body}", find)

    async def until_shown(self, text: str, *, attempt: int = 1) -> None:
        """Wait until exactly *text* of an attempt has been streamed to the screens."""
        await self.until(f"text {text!r}", lambda _: self.shown(attempt) == text)

    def shown(self, attempt: int) -> str:
        """Return the text that was seen of one attempt while it streamed."""
        deltas = (e for e in self.seen if e.kind is EventKind.TEXT)
        return "".join(e.body["text"] for e in deltas if e.body["attempt"] == attempt)

    async def until_status(self, fact: Callable[[ConversationStatus], bool]) -> None:
        """Wait until the engine says *fact* of where the conversation stands."""

        async def ask() -> bool:
            return fact(await self.product.conversations.status(self.record))

        await until("the status", ask, self._story)

    async def ended(self, turn: int = 1) -> tuple[str, str | None]:
        """Wait for the end of a turn and return its outcome and failure."""
        event = await self.event(EventKind.TURN_ENDED, turn=turn)
        return event.body["outcome"], event.body["failure"]

    async def completed(self, turn: int = 1) -> str:
        """Wait until a turn has completed and everything about it is whole; return its answer."""
        assert await self.ended(turn) == ("completed", None), self._story()
        await self.must_be_whole()
        return [e for e in self.seen if e.kind is EventKind.ANSWER][-1].body["text"]  # type: ignore[no-any-return] # the body of an event is JSON

    def all(self, kind: EventKind) -> list[dict[str, Any]]:
        """Return the bodies of the events of *kind* that were seen."""
        return [event.body for event in self.seen if event.kind is kind]

    def calls(self) -> list[Event]:
        """Return the calls that were seen to be accepted."""
        return [event for event in self.seen if event.kind is EventKind.CALL]

    async def attempts(self) -> list[AttemptRecord]:
        """Return every recorded attempt."""
        return await self.product.database.read(lambda tx: requests.attempts(tx, self.record.id))

    async def outcomes(self) -> list[tuple[int, int, str | None, bool | None]]:
        """Return request, attempt, outcome and whether output had started, of every attempt."""
        attempts = await self.attempts()
        return [(a.request, a.attempt, a.outcome, a.output_started) for a in attempts]

    async def results(self) -> list[ResultItem]:
        """Return every result in the order in which a provider sees it."""
        history = await self.product.database.read(lambda tx: items.history(tx, self.record.id))
        return [item for item in history if isinstance(item, ResultItem)]

    async def log(self, cursor: int = 0) -> list[Event]:
        """Return what a screen that attaches now reads after *cursor*."""
        return await self.product.database.read(lambda tx: _after(tx, self.record.id, cursor))

    async def must_be_whole(self) -> None:
        """Check what holds of every conversation between two turns, whatever has died."""
        for served in self.requests:
            assert pairing_faults(served.body["messages"]) == []
        await self._must_have_one_result_per_call()
        await self._must_have_one_answer_per_request()
        await self._must_have_each_message_once()
        await self._must_have_a_clean_log()

    async def _must_have_one_result_per_call(self) -> None:
        placed = await self.product.database.read(lambda tx: items.transcript(tx, self.record.id))
        assert _ordinals(placed, CallItem) == _ordinals(placed, ResultItem)

    async def _must_have_one_answer_per_request(self) -> None:
        attempts = await self.attempts()
        assert [a for a in attempts if a.outcome is None] == []
        last = {(a.turn, a.request): a for a in attempts}
        answered = [a for a in attempts if a.outcome == "answered"]
        # Nothing is sent again after its answer is there.
        assert all(last[a.turn, a.request] == a for a in answered)
        assert len(self.requests) <= len(attempts)

    async def _must_have_each_message_once(self) -> None:
        history = await self.product.database.read(lambda tx: items.history(tx, self.record.id))
        heard = Counter(item.message for item in history if isinstance(item, UserItem))
        begun = await self.product.database.read(lambda tx: turns.all_turns(tx, self.record.id))
        assert set(heard.values()) == {1}
        assert {turn.message for turn in begun} <= set(heard)
        assert all(turn.outcome for turn in begun)

    async def _must_have_a_clean_log(self) -> None:
        log = await self.log()
        assert [e.seq for e in log] == sorted({e.seq for e in log})
        assert [e for e in log if e.kind in DELTAS] == []
        for kind in (EventKind.CALL, EventKind.RESULT):
            told = Counter((e.turn, e.request, e.body["ordinal"]) for e in log if e.kind is kind)
            assert set(told.values()) <= {1}, kind
        for kind in (EventKind.ANSWER, EventKind.TURN_STARTED, EventKind.TURN_ENDED):
            said = Counter((e.turn, e.request) for e in log if e.kind is kind)
            assert set(said.values()) <= {1}, kind

    async def _look(self) -> None:
        cursor = self.seen[-1].seq if self.seen else 0
        page = await self.product.database.read(
            lambda tx: events.after(tx, self.record.id, cursor)
        )
        self.seen += page

    def _story(self) -> str:
        rows = [f"{e.seq} {e.turn}.{e.request} {e.kind.value} {e.body}"[:300] for e in self.seen]
        asked = [f"{r.number} {r.reply} {r.outcome}" for r in self.requests]
        return "\n".join([*rows[-40:], "== requests", *asked, self.product.story()])


def _after(connection: Connection, conversation: str, cursor: int) -> list[Event]:
    found: list[Event] = []
    while page := events.after(connection, conversation, found[-1].seq if found else cursor):
        found += page
    return found


def _ordinals(
    placed: Sequence[PlacedItem], kind: type[CallItem] | type[ResultItem]
) -> list[tuple[int, int, int]]:
    return [(p.turn, p.request, p.item.ordinal) for p in placed if isinstance(p.item, kind)]
