"""What a second Ctrl-C means."""

import time

from cli.failures import INTERRUPTED

FORCE_WITHIN = 2.5
"""A second Ctrl-C within 2.5 seconds forces exit with status 130."""
HINT_AFTER = 0.25
"""The hint appears after a quarter second."""


class Interrupts:
    """Remembers the Ctrl-C that cancelled a turn."""

    def __init__(self) -> None:
        self._cancelled_at: float | None = None

    def press(self, *, cancels: bool) -> int | None:
        """Take a Ctrl-C and return the status to leave with at once, if any."""
        if self._since() is not None:
            return INTERRUPTED
        self._cancelled_at = time.monotonic() if cancels else None
        return None

    @property
    def hint(self) -> str:
        """What to say about the next Ctrl-C."""
        since = self._since()
        return "Ctrl-C again leaves at once" if since is not None and since > HINT_AFTER else ""

    def _since(self) -> float | None:
        if self._cancelled_at is None:
            return None
        since = time.monotonic() - self._cancelled_at
        return since if since <= FORCE_WITHIN else None
