"""The edits of a text resource, by line numbers of the observed snapshot."""

import re
from abc import ABC, abstractmethod
from typing import Annotated, Literal

from pydantic import Field

from activities.errors import InvalidArguments
from activities.tools.tool import Arguments
from activities.workspace.lines import Splice, given_lines

Line = Annotated[int, Field(ge=1)]
_NUMBERED = re.compile(r"(\d+)\|")


class LineOperation(Arguments, ABC):
    """One change of some lines that were shown."""

    @property
    @abstractmethod
    def touched(self) -> tuple[int, int]:
        """The first and last line that must have been shown."""

    @abstractmethod
    def splice(self) -> Splice:
        """Return the change.

        Raises:
            InvalidArguments: the lines or the text make no sense.
        """


class ReplaceLines(LineOperation):
    """Replace the lines from start-line to end-line."""

    operation: Literal["replace-lines"]
    start_line: Line
    end_line: Line
    text: str = Field(description="the new lines, without line numbers")

    @property
    def touched(self) -> tuple[int, int]:
        """What is addressed."""
        return self.start_line, self.end_line

    def splice(self) -> Splice:
        """Return the change."""
        return _span(self.start_line, self.end_line, _lines(self.text, self.start_line))


class DeleteLines(LineOperation):
    """Delete the lines from start-line to end-line."""

    operation: Literal["delete-lines"]
    start_line: Line
    end_line: Line

    @property
    def touched(self) -> tuple[int, int]:
        """What is addressed."""
        return self.start_line, self.end_line

    def splice(self) -> Splice:
        """Return the change."""
        return _span(self.start_line, self.end_line, ())


class InsertBefore(LineOperation):
    """Insert lines before a line."""

    operation: Literal["insert-before"]
    line: Line
    text: str = Field(description="the new lines, without line numbers")

    @property
    def touched(self) -> tuple[int, int]:
        """What is addressed."""
        return self.line, self.line

    def splice(self) -> Splice:
        """Return the change."""
        return Splice(self.line, self.line - 1, _lines(self.text, self.line))


class InsertAfter(LineOperation):
    """Insert lines after a line."""

    operation: Literal["insert-after"]
    line: Line
    text: str = Field(description="the new lines, without line numbers")

    @property
    def touched(self) -> tuple[int, int]:
        """What is addressed."""
        return self.line, self.line

    def splice(self) -> Splice:
        """Return the change."""
        return Splice(self.line + 1, self.line, _lines(self.text, self.line + 1))


class ReplaceEmpty(Arguments):
    """Create the file, or fill an empty one.  The text is the content, exactly."""

    operation: Literal["replace-empty"]
    text: str


Operation = Annotated[
    ReplaceLines | DeleteLines | InsertBefore | InsertAfter | ReplaceEmpty,
    Field(discriminator="operation"),
]


def _span(first: int, last: int, lines: tuple[str, ...]) -> Splice:
    if last < first:
        raise InvalidArguments(f"end-line {last} comes before start-line {first}")
    return Splice(first, last, lines)


def _lines(text: str, first: int) -> tuple[str, ...]:
    lines = given_lines(text)
    matches = (_NUMBERED.match(line) for line in lines)
    if all(
        match is not None and int(match[1]) == number
        for number, match in enumerate(matches, first)
    ):
        raise InvalidArguments(f"The text repeats line numbers ({first}|...); give the lines only")
    return lines
