"""Ask a server which database it serves.

Through its HTTP interface: the gRPC client of the SDK takes a quarter of a second to
import and has threads of its own, and this question comes before every command.
"""

import asyncio
import json
from http.client import HTTPConnection, HTTPException
from typing import Final

from activities.errors import ServerUnreachableError
from worker.embedded.ports import LOOPBACK

_TIMEOUT: Final = 5.0
_PATH: Final = "/api/v1/cluster-info"
_LARGEST: Final = 1_000_000


async def served_cluster(port: int) -> str:
    """Return the id of the database behind the HTTP *port*; it lasts as long as the file.

    Raises:
        ServerUnreachableError: no Temporal server answers there.
    """
    try:
        return await asyncio.to_thread(_ask, port)
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerUnreachableError(
            f"No Temporal server answers at {LOOPBACK}:{port} ({error or type(error).__name__})"
        ) from error


def _ask(port: int) -> str:
    connection = HTTPConnection(LOOPBACK, port, timeout=_TIMEOUT)
    try:
        connection.request("GET", _PATH)
        return str(json.loads(connection.getresponse().read(_LARGEST))["clusterId"])
    finally:
        connection.close()
