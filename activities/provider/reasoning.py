"""The typed reasoning blocks that some aggregators stream beside the plain text."""

from typing import Any

GROWING = ("text", "summary", "data", "signature")
"""Fields that arrive in pieces; the others are repeated or come once."""


class ReasoningDetails:
    """Blocks by type and index, in the order in which they began."""

    def __init__(self) -> None:
        self._blocks: dict[object, tuple[dict[str, Any], dict[str, list[str]]]] = {}

    def add(self, details: object) -> bool:
        """Take the blocks of one chunk in; return whether they brought anything."""
        progress = False
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                progress |= self._take(detail)
        return progress

    def merged(self) -> list[dict[str, Any]]:
        """Return the whole blocks."""
        return [
            fixed | {name: "".join(pieces) for name, pieces in growing.items()}
            for fixed, growing in self._blocks.values()
        ]

    def _take(self, detail: dict[str, Any]) -> bool:
        index = detail.get("index")
        # Without an index nothing tells which block a piece belongs to: keep each.
        key = (detail.get("type"), len(self._blocks) if index is None else f"#{index}")
        fixed, growing = self._blocks.setdefault(key, ({}, {}))
        progress = False
        for name, value in detail.items():
            if name in GROWING and isinstance(value, str):
                growing.setdefault(name, []).append(value)
                progress |= bool(value)
            elif value is not None or name not in fixed:
                fixed[name] = value
        return progress
