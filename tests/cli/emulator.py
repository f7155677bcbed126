"""A small terminal: what a person would see of the bytes that a program writes.

It knows the sequences that the screen uses and refuses any other, so that an
unexpected one is a failing test and not an unseen one.
"""

import re

from rich.cells import get_character_cell_size

SEQUENCE = re.compile(r"\x1b\[([?>]?)([0-9;]*)([A-Za-z])|\x1b([=>78])|\x1b\]([^\x07]*)\x07")
IGNORED = frozenset("hlmnuqt")
"""Modes, colours, reports: they move nothing."""
COLOURS = frozenset((*range(30, 39), *range(40, 49), *range(90, 98)))
MOVES = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}


class Emulator:
    """A scrollback and a cursor; rows above the last *rows* are the scrollback."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._lines: list[list[str]] = [[]]
        self._row, self._column = 0, 0
        self._wraps = True
        self._rest = ""
        self.colours = 0
        """How many sequences asked for a colour."""

    def feed(self, text: str) -> None:
        """Take what the program wrote; a sequence may come in pieces."""
        text, self._rest = self._rest + text, ""
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                match = SEQUENCE.match(text, place)
                if match is None:
                    self._rest = text[place:]
                    assert len(self._rest) < 64, f"unknown sequence {self._rest!r}"
                    return
                self._obey(match)
                place = match.end()
            else:
                self._put(text[place])
                place += 1

    @property
    def lines(self) -> list[str]:
        """Every line from the first that was written, without trailing blanks."""
        return ["".join(line).rstrip() for line in self._lines]

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.lines)

    def _put(self, character: str) -> None:
        if character == "\n":
            self._row += 1
        elif character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(self._column - 1, 0)
        elif character != "\x07":
            self._write(character)
        while len(self._lines) <= self._row:
            self._lines.append([])

    def _write(self, character: str) -> None:
        assert character >= " ", f"control character {character!r} reached the terminal"
        cells = get_character_cell_size(character)
        if self._column + cells > self.columns:
            assert self._wraps, "written beyond the edge"
            self._row, self._column = self._row + 1, 0
            while len(self._lines) <= self._row:
                self._lines.append([])
        line = self._lines[self._row]
        line += [" "] * (self._column - len(line))
        line[self._column : self._column + cells] = [character] + [""] * (cells - 1)
        self._column += cells

    def _obey(self, match: re.Match[str]) -> None:
        private, parameters, action = match[1], match[2], match[3]
        if action is None:
            return
        if private:
            self._wraps = action == "h" if parameters == "7" else self._wraps
            return
        numbers = [int(number) if number else 0 for number in parameters.split(";")]
        top = max(len(self._lines) - self.rows, 0)
        self.colours += action == "m" and any(number in COLOURS for number in numbers)
        if action == "J":
            self._erase_below(numbers[0], top)
        elif action == "K":
            del self._lines[self._row][self._column :]
        elif action == "H":
            self._row = top + (numbers[0] or 1) - 1
            self._column = (numbers[1] if len(numbers) > 1 else 1) - 1
        else:
            assert action in IGNORED or action in MOVES, f"unknown sequence {match[0]!r}"
            down, right = MOVES.get(action, (0, 0))
            count = numbers[0] or 1
            self._row = max(self._row + down * count, top)
            self._column = min(max(self._column + right * count, 0), self.columns - 1)
        while len(self._lines) <= self._row:
            self._lines.append([])

    def _erase_below(self, mode: int, top: int) -> None:
        if mode == 2:
            del self._lines[top:]
        else:
            del self._lines[self._row][self._column :]
            del self._lines[self._row + 1 :]
        while len(self._lines) <= self._row:
            self._lines.append([])
