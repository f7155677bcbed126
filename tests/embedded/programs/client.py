"""A client that attaches, starting what is missing, and prints the supervisor's pid."""

import asyncio
import sys

from activities.configuration.locations import Roots
from tests.embedded.home import supervisor_command
from worker.embedded.attach import ensure_running

if __name__ == "__main__":
    runtime = asyncio.run(ensure_running(Roots.of(), command=supervisor_command))
    sys.stdout.write(f"{runtime.supervisor.pid}\n")
