"""The screen: finished rows go to the scrollback, a bounded region below them lives.

The primary screen is used throughout, so the terminal's own scrolling and copying
work.  Only this module writes to the terminal while a session runs.
"""

import asyncio
import io
import os
import sys
from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output.vt100 import Vt100_Output
from rich.console import Console
from rich.text import Text

from cli.terminal.console import UNWRAPPED, wants_colour
from cli.terminal.history import InputHistory

KEY_SECONDS = 0.05
"""How long a lone Escape waits for the rest of a key's sequence."""
LIVE_ROWS = 16
OTHER_ROWS = 4
"""Rows that the input and the status line need at least."""
DRAFT_ROWS = 8
PROMPT = "> "
COMMON = Size(rows=24, columns=80)

Rows = Sequence[Text]


class Screen:
    """A prompt_toolkit application with a live region, a draft and a status line."""

    def __init__(
        self,
        *,
        history: InputHistory,
        keys: KeyBindingsBase,
        live: Callable[[int], Rows],
        status: Callable[[int], Text],
        question: Callable[[], str],
    ) -> None:
        self.draft = Buffer(multiline=True, history=history)
        self.answer = Buffer(multiline=False)
        self._live, self._status, self._question = live, status, question
        self._printed: list[Text] = []
        self._has_rows = asyncio.Event()
        colour = wants_colour(terminal=True, environment=os.environ)
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if colour else None,
            width=UNWRAPPED,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self._application: Application[int] = Application(
            layout=self._layout(),
            key_bindings=keys,
            erase_when_done=True,
            # No question about the cursor's place: not every terminal answers it.
            output=Vt100_Output(
                sys.stdout, _terminal_size, term=os.environ.get("TERM"), enable_cpr=False
            ),
        )
        self._application.ttimeoutlen = KEY_SECONDS
        self._application.timeoutlen = KEY_SECONDS

    @property
    def width(self) -> int:
        """How many cells a row may have; the last column stays free of pending wraps."""
        return max(self._application.output.get_size().columns - 1, 1)

    async def run(self) -> int:
        """Show the screen until :meth:`leave`, and return the status given there."""
        printing = asyncio.create_task(self._print_rows())
        try:
            return await self._application.run_async(set_exception_handler=False)
        finally:
            printing.cancel()
            await asyncio.wait({printing})
            self._write(self._taken())

    def leave(self, status: int) -> None:
        """End the screen, once."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit(result=status)

    def fail(self, error: BaseException) -> None:
        """End the screen with an error."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit(exception=error)

    def print(self, rows: Rows) -> None:
        """Add finished rows to the scrollback."""
        if rows:
            self._printed += rows
            self._has_rows.set()

    def refresh(self) -> None:
        """Paint the live region again soon, with the keyboard where it belongs."""
        wanted = self.answer if self._question() else self.draft
        if self._application.layout.current_buffer is not wanted:
            self.answer.reset()
            self._application.layout.focus(wanted)
        self._application.invalidate()

    def clear(self) -> None:
        """Clear the visible screen; the scrollback stays."""
        self._application.renderer.clear()

    async def _print_rows(self) -> None:
        while True:
            await self._has_rows.wait()
            self._has_rows.clear()
            rows = self._taken()
            await run_in_terminal(lambda: self._write(rows))  # noqa: B023 -- awaited here

    def _taken(self) -> list[Text]:
        rows, self._printed = self._printed, []
        return rows

    def _write(self, rows: Rows) -> None:
        if rows:
            self._application.output.write_raw("".join(f"{self._ansi(row)}\n" for row in rows))
            self._application.output.flush()

    def _ansi(self, row: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(row, end="", soft_wrap=True)
        return captured.get()

    def _layout(self) -> Layout:
        asking = Condition(lambda: bool(self._question()))
        live = Window(
            FormattedTextControl(self._live_text), dont_extend_height=True, wrap_lines=False
        )
        living = Condition(lambda: bool(self._live(self.width)))
        draft = Window(
            BufferControl(self.draft, input_processors=[BeforeInput(PROMPT, style="bold")]),
            height=Dimension(min=1, max=DRAFT_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
        )
        answer = Window(
            BufferControl(self.answer, input_processors=[BeforeInput(self._question)]),
            height=Dimension(min=1, max=DRAFT_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
        )
        status = Window(FormattedTextControl(self._status_text), height=1, wrap_lines=False)
        return Layout(
            HSplit(
                [
                    ConditionalContainer(live, filter=living),
                    ConditionalContainer(answer, filter=asking),
                    ConditionalContainer(draft, filter=~asking),
                    status,
                ]
            ),
            focused_element=draft,
        )

    def _live_text(self) -> AnyFormattedText:
        room = self._application.output.get_size().rows - OTHER_ROWS
        rows = self._live(self.width)[-max(min(room, LIVE_ROWS), 1) :]
        return ANSI("\n".join(self._ansi(row) for row in rows))

    def _status_text(self) -> AnyFormattedText:
        return ANSI(self._ansi(self._status(self.width)))


def _terminal_size() -> Size:
    """Return the terminal's size; one that does not know its own counts as common."""
    found = os.get_terminal_size(sys.stdout.fileno())
    return Size(rows=found.lines or COMMON.rows, columns=found.columns or COMMON.columns)
