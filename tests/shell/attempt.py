"""One attempt of one call, as a process of its own: ``attempt.py ROOT COMMAND``.

Prints the result's text, or the name of the error.
"""

import asyncio
import sys
from pathlib import Path

from activities.errors import ToolError
from tests.shell.site import Site


async def attempt(root: Path, command: str) -> str:
    """Run *command* as the call that every attempt shares."""
    site = Site(root)
    try:
        result = await site.run(command)
    except ToolError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        site.database.close()
    return result.text


print(asyncio.run(attempt(Path(sys.argv[1]), sys.argv[2])))  # noqa: T201 -- its answer
