"""A person at a terminal: types keys, sees the screen."""

import re
import time

import pexpect

from tests.cli.command import COMMAND, PATIENCE, Account
from tests.cli.emulator import Emulator

ENTER, TAB, ESCAPE, CTRL_C, CTRL_D = "\r", "\t", "\x1b", "\x03", "\x04"
ID = re.compile(r"(?: · |^|attach )([1-9A-HJ-NP-Za-km-z]{8})(?: · |$)", re.MULTILINE)
ALT_ENTER = "\x1b\r"


class Person:
    """Somebody in front of ``autolith`` on a pty."""

    def __init__(
        self, account: Account, *arguments: str, columns: int = 60, rows: int = 30
    ) -> None:
        self.screen = Emulator(columns, rows)
        self._child = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], *arguments],
            cwd=str(account.workspace),
            env={**account.environ, "TERM": "xterm-256color"},
            dimensions=(rows, columns),
            encoding="utf-8",
            timeout=PATIENCE,
            echo=False,
        )

    @property
    def pid(self) -> int:
        """The process of the command."""
        assert isinstance(self._child.pid, int)
        return self._child.pid

    def types(self, keys: str) -> None:
        """Press keys, all at once."""
        self._child.send(keys)

    def says(self, text: str) -> None:
        """Type *text*, see it in the draft, and press Enter."""
        self.types(text)
        self.sees(text.splitlines()[-1][-20:])
        self.types(ENTER)

    def sees(self, words: str, *, times: int = 1) -> None:
        """Wait until the words are on the screen or in the scrollback that often."""
        deadline = time.monotonic() + PATIENCE
        while self.screen.text.count(words) < times:
            assert time.monotonic() < deadline, f"no {words!r} on:\n{self.screen.text}"
            self._look()

    def no_longer_sees(self, words: str) -> None:
        """Wait until the words are gone."""
        deadline = time.monotonic() + PATIENCE
        while words in self.screen.text:
            assert time.monotonic() < deadline, f"{words!r} stays on:\n{self.screen.text}"
            self._look()

    def resizes(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self._child.setwinsize(rows, columns)
        self.screen.columns, self.screen.rows = columns, rows

    def ends(self) -> int:
        """Wait for the end of the command and return its status."""
        deadline = time.monotonic() + PATIENCE
        while self._child.isalive():
            assert time.monotonic() < deadline, f"still there:\n{self.screen.text}"
            self._look()
        self._look()
        self._child.close()
        status = self._child.exitstatus
        assert isinstance(status, int), self._child.signalstatus
        return status

    def leaves(self) -> None:
        """Go away by the hard way, if not gone yet."""
        self._child.close(force=True)

    @property
    def conversation(self) -> str:
        """The id that the screen tells."""
        deadline = time.monotonic() + PATIENCE
        while not (found := ID.search(self.screen.text)):
            assert time.monotonic() < deadline, f"no id on:\n{self.screen.text}"
            self._look()
        return found[1]

    def _look(self) -> None:
        try:
            self.screen.feed(self._child.read_nonblocking(65_536, timeout=0.2))
        except (pexpect.TIMEOUT, pexpect.EOF):
            time.sleep(0.01)
