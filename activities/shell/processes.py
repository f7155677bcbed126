"""Processes as Linux shows them in ``/proc``: who is alive, and who descends from whom.

A pid alone names nobody, since pids are used again: a process is a pid, the time it
started, and the boot in which it did.  Used by the runner too: few imports.
"""

import os

BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOOT_VARIABLE = "AUTOLITH_BOOT_ID"
"""Stands in for the machine's own boot id, so that tests can restart "the machine"."""
DEAD = ("Z", "X", "x")


class Process:
    """One process at the moment it was read."""

    __slots__ = ("group", "parent", "pid", "start", "state")

    def __init__(self, pid: int, line: bytes) -> None:
        # The name is in parentheses and may itself contain any byte.
        fields = line[line.rindex(b")") + 2 :].split()
        self.pid = pid
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.start = int(fields[19])

    @property
    def is_alive(self) -> bool:
        """Whether it still runs; a zombie has ended and only waits to be counted."""
        return self.state not in DEAD


def boot() -> str:
    """Return the identity of this boot of the machine."""
    if told := os.environ.get(BOOT_VARIABLE):
        return told
    # Pathlib would double the runner's start-up time, here and below.
    with open(BOOT_ID) as file:  # noqa: PTH123 -- see above
        return file.read().strip()


def find(pid: int) -> Process | None:
    """Return the process *pid* as it is now, or None when there is none."""
    line = _read(f"/proc/{pid}/stat")
    return Process(pid, line) if line else None


def is_running(pid: int, start: int) -> bool:
    """Tell whether the process that started as *pid* at *start* still runs."""
    found = find(pid)
    return found is not None and found.start == start and found.is_alive


def descendants(ancestor: int) -> list[Process]:
    """Return every living process below *ancestor*, children first."""
    children: dict[int, list[Process]] = {}
    for process in map(find, _pids()):
        if process:
            children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [ancestor]
    while waiting:
        below = children.pop(waiting.pop(0), [])
        found += [process for process in below if process.is_alive]
        waiting += [process.pid for process in below]
    return found


def bearing(variable: str, value: str) -> list[int]:
    """Return every process but this one that was started with *variable* set to *value*."""
    wanted = f"{variable}={value}".encode()
    return [
        pid
        for pid in _pids()
        if pid != os.getpid() and wanted in _read(f"/proc/{pid}/environ").split(b"\0")
    ]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 -- see above


def _read(path: str) -> bytes:
    """Return a file of a process, or nothing when it is gone or somebody else's."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- see above
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
