"""The history of a conversation without reading it all again for every request.

What lies before a request is final when that request begins, so a worker may keep
it: only what came since is read.  Another worker, or this one after a restart, reads
everything once.
"""

from collections import OrderedDict
from dataclasses import dataclass

from sqlalchemy import Connection

from activities.store import items
from workflows.contracts.item import Item
from workflows.contracts.key import RequestKey

KEPT_ITEMS = 20_000
"""How many items are kept in total; a conversation that does not fit is read each time."""


@dataclass(frozen=True)
class _Prefix:
    """Everything before one request."""

    turn: int
    request: int
    items: tuple[Item, ...]


class HistoryCache:
    """Keeps the histories of the conversations that were used last."""

    def __init__(self) -> None:
        self._prefixes: OrderedDict[str, _Prefix] = OrderedDict()

    def history(self, connection: Connection, key: RequestKey) -> tuple[Item, ...]:
        """Return every item up to and including the input of the request *key*."""
        known = self._prefixes.get(key.conversation)
        if known is None or (known.turn, known.request) > (key.turn, key.request):
            known = _Prefix(0, 0, ())
        since = items.transcript(connection, key.conversation, since=(known.turn, known.request))
        before = [p.item for p in since if (p.turn, p.request) < (key.turn, key.request)]
        own = [p.item for p in since if (p.turn, p.request) == (key.turn, key.request)]
        prefix = (*known.items, *before)
        self._keep(key, prefix)
        return (*prefix, *own)

    def _keep(self, key: RequestKey, prefix: tuple[Item, ...]) -> None:
        self._prefixes[key.conversation] = _Prefix(key.turn, key.request, prefix)
        self._prefixes.move_to_end(key.conversation)
        while sum(len(kept.items) for kept in self._prefixes.values()) > KEPT_ITEMS:
            self._prefixes.popitem(last=False)
