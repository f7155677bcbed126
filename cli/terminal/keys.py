"""Keys of the screen, each mapped to one thing that a person can want."""

from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


class Wishes(Protocol):
    """What keys ask a session for."""

    def is_asked(self) -> bool:
        """Whether a permission question has the keyboard."""

    def enter(self) -> None:
        """Send the draft, or the answer; steer while a turn runs."""

    def queue(self) -> None:
        """Send the draft as work of its own."""

    def escape(self) -> None:
        """Cancel the turn, or deny the question."""

    def interrupt(self) -> None:
        """Cancel and hold the queue; leave when there is nothing to cancel."""

    def end(self) -> None:
        """Leave, if nothing is typed."""

    def redraw(self) -> None:
        """Clear the screen."""


def key_bindings(wishes: Wishes) -> KeyBindings:
    """Return the bindings; editing keys are prompt_toolkit's own."""
    bindings = KeyBindings()
    drafting = ~Condition(wishes.is_asked)

    def enter(event: KeyPressEvent) -> None:
        if _is_pasting(event) and not wishes.is_asked():
            _break_line(event)
        else:
            wishes.enter()

    def end(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            wishes.end()

    bindings.add(Keys.ControlM)(enter)
    bindings.add(Keys.Escape, Keys.ControlM, filter=drafting)(_break_line)
    bindings.add(Keys.ControlJ, filter=drafting)(_break_line)
    bindings.add(Keys.ControlI, filter=drafting)(lambda _event: wishes.queue())
    bindings.add(Keys.Escape)(lambda _event: wishes.escape())
    bindings.add(Keys.ControlC)(lambda _event: wishes.interrupt())
    bindings.add(Keys.SIGINT)(lambda _event: wishes.interrupt())
    bindings.add(Keys.ControlD)(end)
    bindings.add(Keys.ControlL)(lambda _event: wishes.redraw())
    bindings.add(Keys.ControlZ)(lambda event: event.app.suspend_to_background())
    return bindings


def _break_line(event: KeyPressEvent) -> None:
    event.current_buffer.newline(copy_margin=False)


def _is_pasting(event: KeyPressEvent) -> bool:
    """Return whether more text has arrived in one go: a paste without brackets.

    Nobody types the next line before the terminal has delivered this one.
    """
    rest = event.app.key_processor.input_queue
    return any(isinstance(press.key, str) and len(press.key) == 1 for press in rest)
