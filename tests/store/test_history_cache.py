"""The cached history is the history, whatever was asked before."""

import random

from activities.store import items
from activities.store.database import Database
from activities.store.history_cache import HistoryCache
from activities.store.items import Phase
from tests.store.conftest import CONVERSATION
from workflows.contracts.item import AssistantItem, UserItem
from workflows.contracts.key import RequestKey


def test_a_cache_never_changes_what_is_read(database: Database) -> None:
    """While a conversation grows, a warm, a cold and a restarted reader agree."""
    warm = HistoryCache()
    chance = random.Random(5)
    for turn in range(1, 6):
        for request in range(1, 6):
            key = RequestKey(conversation=CONVERSATION, turn=turn, request=request)
            said = UserItem(message=f"{turn}.{request}", text="hello")
            database.write_now(lambda tx, k=key, i=said: items.put(tx, k, Phase.INPUT, [(0, i)]))  # type: ignore[misc]
            for _ in range(chance.randint(1, 3)):
                seen = database.read_now(lambda tx, k=key: warm.history(tx, k))  # type: ignore[misc]
            assert seen == database.read_now(lambda tx, k=key: HistoryCache().history(tx, k))  # type: ignore[misc]
            assert seen == database.read_now(lambda tx: items.history(tx, CONVERSATION))
            reply = AssistantItem(text=f"reply {turn}.{request}")
            database.write_now(lambda tx, k=key, i=reply: items.put(tx, k, Phase.REPLY, [(0, i)]))  # type: ignore[misc]

    assert len(seen) == 2 * 25 - 1


def test_an_earlier_request_is_read_anew(database: Database) -> None:
    """A replayed activity for an earlier request does not see what came later."""
    cache = HistoryCache()
    first, second = (
        RequestKey(conversation=CONVERSATION, turn=1, request=request) for request in (1, 2)
    )
    database.write_now(
        lambda tx: items.put(tx, first, Phase.INPUT, [(0, AssistantItem(text="a"))])
    )
    database.write_now(
        lambda tx: items.put(tx, second, Phase.INPUT, [(0, AssistantItem(text="b"))])
    )

    late = database.read_now(lambda tx: cache.history(tx, second))
    early = database.read_now(lambda tx: cache.history(tx, first))

    assert [item.kind for item in late] == ["assistant", "assistant"]
    assert early == (AssistantItem(text="a"),)
