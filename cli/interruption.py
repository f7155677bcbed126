"""Signals during ``autolith run``: the first cancels the turn, the second leaves at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cli.failures import INTERRUPTED, TERMINATED, complain


class Interruption:
    """What SIGINT and SIGTERM do to one run.

    Before there is a turn to cancel, SIGINT cancels the task that waits for one.
    SIGTERM ends this process only: the turn goes on without it.
    """

    def __init__(self, parting: str) -> None:
        self._parting = parting
        self._task = asyncio.current_task()
        self.requested = asyncio.Event()
        self.has_turn = False
        """Whether the message was taken, so that its turn can be cancelled."""

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals for a while."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._leave, TERMINATED)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)

    def _interrupt(self) -> None:
        if self.requested.is_set():
            self._leave(INTERRUPTED)
        self.requested.set()
        if self.has_turn:
            complain("cancelling the turn; once more to leave at once")
        elif self._task is not None:
            self._task.cancel()

    def _leave(self, status: int) -> None:
        complain(self._parting)
        try:
            sys.stdout.flush()
        finally:
            os._exit(status)
