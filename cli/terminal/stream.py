"""The text of one attempt while it streams: finished rows leave, the last one lives.

A partial text is never joined with the text of another attempt, and the complete
answer only adds what the screen has not shown yet.
"""

from rich.text import Text

from cli.terminal import rows
from cli.terminal.neutral import neutralise
from cli.terminal.wrapping import TAB, spans


class Stream:
    """What one attempt has said so far."""

    def __init__(self) -> None:
        self._received = ""
        self._open = ""
        self.thinking = ""
        """Reasoning since the last text; shown live only."""

    @property
    def has_text(self) -> bool:
        """Whether any text of this attempt has been shown."""
        return bool(self._received)

    def think(self, text: str) -> None:
        """Take a piece of reasoning."""
        self.thinking += text

    def add(self, text: str, width: int) -> list[Text]:
        """Take a piece of text and return the rows that are finished by it."""
        self.thinking = ""
        self._received += text
        self._open += neutralise(text).replace("\t", TAB)
        places = spans(self._open, width)
        finished = [Text(self._open[start:end]) for start, end in places[:-1]]
        self._open = self._open[places[-1][0] :]
        return finished

    def live(self, width: int) -> list[Text]:
        """Return the unfinished end of the text."""
        return [Text(self._open[start:end]) for start, end in spans(self._open, width)]

    def flush(self, width: int) -> list[Text]:
        """Return the unfinished end as finished rows."""
        remaining = self.live(width) if self._open.strip() else []
        self._open = ""
        return remaining

    def complete(self, text: str, width: int) -> list[Text]:
        """Add what of *text* was not received, if it is this text."""
        if text.startswith(self._received):
            return self.add(text[len(self._received) :], width)
        return []

    def finish(self, answer: str, width: int) -> list[Text]:
        """Return the rows of *answer* that are not on the screen yet, and forget it."""
        if answer.startswith(self._received):
            finished = self.complete(answer.rstrip(), width) + self.flush(width)
        else:
            finished = self.flush(width)
            finished += rows.plain("[the answer as it was stored:]", width, "dim")
            finished += rows.answer(answer, width)
        self._received, self.thinking = "", ""
        return finished

    def cut(self, reason: str, following: int | None, width: int) -> list[Text]:
        """Return the rest of a text that ended early, marked, and forget it."""
        if not self.has_text:
            return []
        finished = self.flush(width) + rows.cut_off(reason, following, width)
        self._received, self.thinking = "", ""
        return finished
