"""The product's supervisor with the stand-in for a worker: ``supervisor.py [PORT]``."""

import asyncio
import logging
import sys

from activities.configuration.locations import Roots
from activities.errors import AutolithError
from tests.embedded.home import program
from worker.embedded.supervisor import Supervisor


async def main() -> None:
    """Serve until told to stop."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    supervisor = Supervisor(
        Roots.of(), port=port, command=lambda address: program("worker", address)
    )
    await supervisor.run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        asyncio.run(main())
    except AutolithError as error:
        sys.exit(f"{type(error).__name__}: {error}")
