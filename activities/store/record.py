"""Everything that is known of one conversation, read in one snapshot."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from activities.store import conversations, items, jobs, requests, turns
from activities.store.conversations import ConversationRecord
from activities.store.items import PlacedItem
from activities.store.jobs import JobNote
from activities.store.requests import AttemptRecord
from activities.store.turns import TurnRecord
from workflows.contracts.base import Contract
from workflows.contracts.usage import Usage


class RequestUsage(Contract):
    """What one request cost."""

    request: int
    usage: Usage


class TurnPart(Contract):
    """One turn with all that belongs to it."""

    record: TurnRecord
    items: tuple[PlacedItem, ...]
    attempts: tuple[AttemptRecord, ...]
    usages: tuple[RequestUsage, ...]


class Record(Contract):
    """One conversation, complete."""

    conversation: ConversationRecord
    turns: tuple[TurnPart, ...]
    jobs: tuple[JobNote, ...]


class _OfTurn(Protocol):
    @property
    def turn(self) -> int: ...


R = TypeVar("R", bound=_OfTurn)


def read_record(connection: Connection, abbreviation: str) -> Record:
    """Return the record of the conversation that *abbreviation* names.

    Raises:
        UnknownConversationError: there is none.
        AmbiguousConversationError: there are several.
    """
    conversation = conversations.find(connection, abbreviation)
    name = conversation.id
    placed = _by_turn(items.transcript(connection, name))
    attempts = _by_turn(requests.attempts(connection, name))
    usages: dict[int, list[RequestUsage]] = defaultdict(list)
    for turn, request, usage in requests.usages(connection, name):
        usages[turn].append(RequestUsage(request=request, usage=usage))
    return Record(
        conversation=conversation,
        turns=tuple(
            TurnPart(
                record=turn,
                items=tuple(placed[turn.turn]),
                attempts=tuple(attempts[turn.turn]),
                usages=tuple(usages[turn.turn]),
            )
            for turn in turns.all_turns(connection, name)
        ),
        jobs=tuple(jobs.of_conversation(connection, name)),
    )


def _by_turn(values: Iterable[R]) -> dict[int, list[R]]:
    found: dict[int, list[R]] = defaultdict(list)
    for value in values:
        found[value.turn].append(value)
    return found
