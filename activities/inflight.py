"""What a running activity tells the in-flight journal, without knowing that there is one.

If this worker dies, its successor reports each attempt as lost; whether output
had started decides how often the request may be repeated.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class _Marking:
    """Whether the running activity has produced output, and whom to tell."""

    def __init__(self, marker: Callable[[], None]) -> None:
        self.marker = marker
        self.started = False


_marking: ContextVar[_Marking | None] = ContextVar("output_started", default=None)


def mark_output_started() -> None:
    """Note that the running activity has produced output.  Repeating it costs nothing."""
    marking = _marking.get()
    if marking is not None and not marking.started:
        marking.started = True
        marking.marker()


def output_started() -> bool:
    """Return whether the running activity has noted output."""
    marking = _marking.get()
    return marking is not None and marking.started


@contextmanager
def marking(marker: Callable[[], None]) -> Iterator[None]:
    """Let the first :func:`mark_output_started` inside the block call *marker*."""
    token = _marking.set(_Marking(marker))
    try:
        yield
    finally:
        _marking.reset(token)
