"""Stop the runtime of a state root, also what a killed supervisor has left behind."""

from typing import Final

from activities.configuration.locations import Roots
from activities.errors import ConfigurationError, LockHeldError
from worker.embedded.lock import locked, signer
from worker.embedded.process import Process, Watched
from worker.embedded.runtime_file import NAME, read_runtime
from worker.embedded.server import LOCK as SERVER_LOCK
from worker.embedded.server import STOP as SERVER_STOP
from worker.embedded.supervisor import LOCK
from worker.embedded.worker_service import STOP as WORKER_STOP

_MARGIN: Final = 5.0


async def stop_runtime(roots: Roots) -> bool:
    """End worker, server and supervisor gracefully; return whether any of them ran.

    Commands that the worker had started are not touched: the next worker adopts them.
    """
    path = roots.state / LOCK
    if not path.exists():
        return False
    supervised = await _ended(signer(path), WORKER_STOP + SERVER_STOP + _MARGIN)
    try:
        # With the lock in hand nobody can be starting what is ended here.
        with locked(path, held="a supervisor was started meanwhile"):
            return await _end_strays(roots) or supervised
    except LockHeldError:
        return supervised


async def _end_strays(roots: Roots) -> bool:
    try:
        published = read_runtime(roots.state)
    except ConfigurationError:
        published = None  # then only the server's lock tells what is left
    worker = await _ended(published.worker if published else None, WORKER_STOP)
    server = await _ended(signer(roots.state / SERVER_LOCK), SERVER_STOP)
    (roots.state / NAME).unlink(missing_ok=True)
    return worker or server


async def _ended(process: Process | None, grace: float) -> bool:
    """End *process* and return whether it ran."""
    watched = Watched.adopt(process) if process else None
    if watched is None:
        return False
    await watched.stop(grace)
    return True
