"""The claim: whoever writes it first may start the command, and nobody else ever.

It is the arbiter between runners that were started twice, and between a runner and a
cancellation that comes before it: a withdrawn execution cannot start any more.
"""

import os

from activities.shell import processes, records

NOBODY = 0


class Claim:
    """Who runs an execution."""

    __slots__ = ("boot", "pid", "start")

    def __init__(self, pid: int, start: int, boot: str) -> None:
        self.pid, self.start, self.boot = pid, start, boot

    @property
    def is_withdrawn(self) -> bool:
        """Whether the execution was cancelled before anybody ran it."""
        return self.pid == NOBODY

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the machine has not been restarted since."""
        return self.boot == processes.boot()

    @property
    def is_running(self) -> bool:
        """Whether the runner that made this claim is still there."""
        return self.is_of_this_boot and processes.is_running(self.pid, self.start)


def take(directory: str) -> bool:
    """Claim the execution for this process; return whether it is ours."""
    this = processes.find(os.getpid())
    return _publish(directory, os.getpid(), this.start if this else 0)


def withdraw(directory: str) -> bool:
    """Claim the execution for nobody; return False when somebody has it already."""
    return _publish(directory, NOBODY, 0)


def read(directory: str) -> Claim | None:
    """Return the claim on the execution, or None when it was never started.

    Raises:
        ValueError: the record is damaged.
    """
    record = records.read(directory, records.CLAIM)
    if record is None:
        return None
    pid, start, boot = (str(record.get(name)) for name in ("pid", "start", "boot"))
    return Claim(int(pid), int(start), boot)


def _publish(directory: str, pid: int, start: int) -> bool:
    value: dict[str, object] = {"pid": pid, "start": start, "boot": processes.boot()}
    return records.publish(directory, records.CLAIM, value, durable=True)
