"""How long to wait before a process that died is started again.

Usually not at all: the revival of a killed worker is what a person waits for.  Only
a process that dies again and again before it did anything is held back.
"""

from typing import Final

STEADY: Final = 1.0
"""Seconds of service after which a life was not a failed start."""
AT_ONCE: Final = 3
"""So many failed starts in a row are repeated without waiting."""
FIRST: Final = 0.5
LONGEST: Final = 30.0
"""Seconds: the first wait, which doubles each time, and the longest."""


class Restarts:
    """Counts the deaths of one service."""

    def __init__(self) -> None:
        self.total = 0
        self._failed = 0

    def delay(self, served: float) -> float:
        """Return the wait after a life that served for *served* seconds (0: never ready)."""
        self.total += 1
        self._failed = 0 if served >= STEADY else self._failed + 1
        if self._failed <= AT_ONCE:
            return 0.0
        return min(LONGEST, FIRST * 2.0 ** (self._failed - AT_ONCE - 1))
