"""The history of a conversation, in the order a provider must see it.

The order is part of the key: what was put in before a request, then its reply, then
the results in the order of the calls.  Whatever finishes first, and whatever is
written twice, the history reads the same.
"""

import time
from collections.abc import Sequence
from enum import IntEnum

from pydantic import TypeAdapter
from sqlalchemy import Connection, select, tuple_

from activities.store.insertion import insert_once
from activities.store.schema import ITEMS
from workflows.contracts.base import Contract
from workflows.contracts.item import Item
from workflows.contracts.key import RequestKey

ADAPTER: TypeAdapter[Item] = TypeAdapter(Item)


class Phase(IntEnum):
    """Where within a request an item stands."""

    INPUT = 0
    REPLY = 1
    RESULT = 2


class PlacedItem(Contract):
    """An item with its place, for transcripts."""

    turn: int
    request: int
    at: float
    """Unix time at which it was stored."""
    item: Item


def put(tx: Connection, key: RequestKey, phase: Phase, items: Sequence[tuple[int, Item]]) -> int:
    """Write *items* at their ordinals and return how many were new."""
    now = time.time()
    rows = [
        {
            "conversation": key.conversation,
            "turn": key.turn,
            "request": key.request,
            "phase": int(phase),
            "ordinal": ordinal,
            "kind": item.kind,
            "body": item.model_dump(mode="json", exclude={"kind"}),
            "created": now,
        }
        for ordinal, item in items
    ]
    return insert_once(tx, ITEMS, *rows)


def history(connection: Connection, conversation: str) -> tuple[Item, ...]:
    """Return every item of *conversation* in wire order."""
    return tuple(placed.item for placed in transcript(connection, conversation))


def transcript(
    connection: Connection, conversation: str, *, since: tuple[int, int] = (0, 0)
) -> list[PlacedItem]:
    """Return the items of *conversation* with their places, in wire order.

    *since* is the (turn, request) to begin with.
    """
    row = ITEMS.c
    query = (
        select(row.turn, row.request, row.created, row.kind, row.body)
        .where(row.conversation == conversation)
        .where(tuple_(row.turn, row.request) >= since)
        .order_by(row.turn, row.request, row.phase, row.ordinal)
    )
    return [
        PlacedItem.model_construct(
            turn=turn,
            request=request,
            at=created,
            item=ADAPTER.validate_python({**body, "kind": kind}),
        )
        for turn, request, created, kind, body in connection.execute(query)
    ]


def has_result(connection: Connection, key: RequestKey, ordinal: int) -> bool:
    """Return whether the call at *ordinal* has its result."""
    row = ITEMS.c
    query = select(row.kind).where(
        row.conversation == key.conversation,
        row.turn == key.turn,
        row.request == key.request,
        row.phase == int(Phase.RESULT),
        row.ordinal == ordinal,
    )
    return connection.execute(query).first() is not None
