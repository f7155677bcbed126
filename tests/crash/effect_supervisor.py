"""The product's supervisor for the worker with more tools: ``effect_supervisor.py [PORT]``."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from activities.configuration.locations import Roots
from worker.embedded.supervisor import Supervisor

HERE = Path(__file__)


def command(port: int) -> Sequence[str]:
    """Return the command line of this program."""
    return [sys.executable, "-P", str(HERE), str(port)]


def _worker(address: str) -> Sequence[str]:
    return [sys.executable, "-P", str(HERE.with_name("effect_worker.py")), address]


if __name__ == "__main__":
    asyncio.run(Supervisor(Roots.of(), port=int(sys.argv[1]), command=_worker).run())
