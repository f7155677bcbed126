"""How an execution ended, as its runner wrote it down."""

import signal
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StreamFigures:
    """How much came through one stream, and how much of that went into the file."""

    observed: int = 0
    written: int = 0
    failure: str | None = None
    """Why the rest could not be written, for example a full disk."""


@dataclass(frozen=True)
class Outcome:
    """The end of one execution."""

    status: int | None = None
    """The exit status, or the negative number of the signal; None if nothing was started."""
    timeout: float | None = None
    """Set when it ran into its timeout: after how many seconds."""
    cancelled: bool = False
    failure: str | None = None
    """Why the command could not be started."""
    left: int = 0
    """How many processes it had left in the background; they were ended."""
    survivors: int = 0
    """How many processes the system would not let end."""
    cpu_microseconds: int = 0
    real_microseconds: int = 0
    streams: dict[str, StreamFigures] = field(default_factory=dict)

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because it ran too long."""
        return self.timeout is not None

    @property
    def summary(self) -> str:
        """Say in a few words how the command ended."""
        if self.timeout is not None:
            return f"timeout after {self.timeout:g} s"
        if self.cancelled:
            return "cancelled"
        if self.status is not None and self.status < 0:
            return f"signal {-self.status} ({_signal_name(-self.status)})"
        return f"exit {self.status}"


def parse(record: dict[str, Any]) -> Outcome:
    """Return the outcome that a runner wrote."""
    streams = {name: StreamFigures(**figures) for name, figures in record["streams"].items()}
    return Outcome(**{**record, "streams": streams})


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unnamed"
