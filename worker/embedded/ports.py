"""Four free ports on loopback for one server.

They are drawn below the range from which the kernel takes ports for outgoing
connections.  In that range a client that reconnects while the server restarts could
be given the server's own port, and hold it against the server.
"""

import random
import socket
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Final

from activities.errors import PortTakenError, ServerFailedError

LOOPBACK: Final = "127.0.0.1"
LOWEST: Final = 15_000
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_NARROWEST: Final = 1_000
_DRAWS: Final = 200
_LISTENING: Final = "0A"
_LOCAL, _STATE, _INODE = 1, 3, 9
"""Columns of ``/proc/net/tcp``."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where one server listens."""

    frontend: int
    http: int
    metrics: int
    ui: int

    @classmethod
    def draw(cls, frontend: int = 0) -> "Ports":
        """Choose ports that are free now, at random; *frontend* may be given.

        Raises:
            PortTakenError: *frontend* is in use.
            ServerFailedError: no free ports were found.
        """
        if frontend and not is_free(frontend):
            raise PortTakenError(
                f"Port {frontend} on {LOOPBACK} is in use by another program; "
                "choose another one with --port, or leave the choice to Autolith"
            )
        drawn = cls(*_free_ports(4))
        return replace(drawn, frontend=frontend) if frontend else drawn

    @property
    def are_free(self) -> bool:
        """Whether all of them can be bound."""
        return all(is_free(port) for port in astuple(self))

    @property
    def address(self) -> str:
        """Where the frontend answers."""
        return f"{LOOPBACK}:{self.frontend}"

    @property
    def ui_address(self) -> str:
        """Where the web interface answers."""
        return f"http://{LOOPBACK}:{self.ui}"


def is_free(port: int) -> bool:
    """Whether *port* on loopback can be bound."""
    with socket.socket() as probe:
        # As the server does it, so that its own closed connections do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def listens(pid: int, *ports: int) -> bool:
    """Whether the process *pid* itself listens at all these *ports* of loopback."""
    own = _sockets(pid)
    return all(_listeners(port) & own for port in ports)


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    for port in _candidates():
        if port not in found and is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise ServerFailedError(f"No free ports were found on {LOOPBACK}")


def _candidates() -> Iterator[int]:
    highest = int(_EPHEMERAL.read_text(encoding="ascii").split()[0])
    for _ in range(_DRAWS):
        if highest - LOWEST >= _NARROWEST:
            yield random.randrange(LOWEST, highest)  # noqa: S311 -- spread, not secrecy
        else:
            with socket.create_server((LOOPBACK, 0)) as probe:
                yield probe.getsockname()[1]


def _listeners(port: int) -> set[str]:
    # The kernel prints the address as one number of the machine's own byte order.
    address = int.from_bytes(socket.inet_aton(LOOPBACK), sys.byteorder)
    wanted = f"{address:08X}:{port:04X}"
    rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    columns = [row.split() for row in rows]
    return {row[_INODE] for row in columns if row[_LOCAL] == wanted and row[_STATE] == _LISTENING}


def _sockets(pid: int) -> set[str]:
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()  # it has ended, or is another account's
    targets = {_target(descriptor) for descriptor in descriptors}
    return {target[len("socket:[") : -1] for target in targets if target.startswith("socket:[")}


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""  # closed meanwhile
