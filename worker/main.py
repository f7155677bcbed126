"""The worker process: serve until told to stop, after reviving what a dead one left.

It ends with ``os._exit``: the SDK may abort in the interpreter's finalisation after a
clean shutdown (temporal facts 6).
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing

from activities.configuration.locations import Roots, host_id
from activities.errors import AutolithError
from activities.shell import sandbox
from worker.composition import compose
from worker.connection import connect
from worker.embedded.readiness import announce
from worker.journal import Journal, Journaling
from worker.recovery import recover
from worker.registry import build_workers
from workflows.policy import queues

PR_SET_DUMPABLE = 4
log = logging.getLogger("autolith.worker")


def main(address: str, roots: Roots, environ: Mapping[str, str] = os.environ) -> int:
    """Serve every queue of this host at *address* until SIGTERM or SIGINT."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    log.setLevel(logging.INFO)
    _hide_environment()
    try:
        asyncio.run(_serve(address, roots, environ))
    except AutolithError as error:
        announce(environ, f"{type(error).__name__}: {error}")
        print(f"autolith worker: {error}", file=sys.stderr)  # noqa: T201 -- its only output
        return 1
    return 0


def leave(status: int) -> None:
    """End this process without the interpreter's finalisation."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


async def _serve(address: str, roots: Roots, environ: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    log.info("starting as pid %d", os.getpid())
    inflight = roots.state / "inflight"
    inflight.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        ports = await stack.enter_async_context(compose(roots, environ))
        client = await connect(address, roots)
        journal = stack.enter_context(closing(Journal(inflight)))
        host = host_id(roots.state)
        workers = build_workers(client, ports, host=host, interceptors=[Journaling(journal)])
        for worker in workers:
            await stack.enter_async_context(worker)
        log.info("polling at %s", address)
        revived = await recover(client, inflight, queues.SHARED, queues.of_host(host))
        log.info("ready; reported %d attempts of lost workers", revived)
        announce(environ)
        # The first question whether there is a sandbox runs a process; ask it now.
        await asyncio.to_thread(sandbox.available)
        await stop.wait()


def _hide_environment() -> None:
    """Keep other processes of the account from reading our keys in /proc (field case A-22)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
