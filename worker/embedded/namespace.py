"""What a server must be told at every start: retention and search attributes.

The server's own flags for this are ignored on an existing database file, so it is
said through the API; saying it again changes nothing.  The ``temporal`` program says
it, because the SDK would bring its threads into the supervisor, which forks.
"""

import asyncio
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

from activities.errors import ServerFailedError

NAMESPACE: Final = "default"
RETENTION: Final = timedelta(days=30)
"""Ended workflows can be looked at for this long; by default it is one day."""
_TIMEOUT: Final = 20.0


async def attribute_names() -> list[str]:
    """Return the search attributes; their module is slow to import, so ask early."""
    search = await asyncio.to_thread(import_module, "workflows.policy.search")
    return [key.name for key in search.ALL]


async def prepare(binary: Path, address: str, names: list[str]) -> None:
    """Set retention and the search attributes *names* of the server at *address*.

    Raises:
        ServerFailedError: the server does not accept it.
    """
    keep = f"{RETENTION // timedelta(hours=1)}h"
    keywords = [word for name in names for word in ("--name", name, "--type", "Keyword")]
    await asyncio.gather(
        _operate(binary, address, "namespace", "update", "--retention", keep),
        _operate(binary, address, "search-attribute", "create", *keywords),
    )


async def _operate(binary: Path, address: str, *words: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(binary), "operator", *words, "--address", address, "--namespace", NAMESPACE),
        *("--disable-config-file", "--disable-config-env"),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env={},
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            _, complaint = await process.communicate()
    except TimeoutError:
        complaint = b"it does not answer"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        said = complaint.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ServerFailedError(f"The Temporal server refused its set-up: {said}")
