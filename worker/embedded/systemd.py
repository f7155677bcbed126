"""Tell systemd how far the service is (the sd_notify protocol)."""

import socket
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "NOTIFY_SOCKET"
READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def notify(environ: Mapping[str, str], state: str) -> None:
    """Send *state* if a service manager asked for it."""
    if not (address := environ.get(VARIABLE)):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        # A leading @ stands for the zero byte of the abstract namespace.
        channel.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        channel.sendall(state.encode())
