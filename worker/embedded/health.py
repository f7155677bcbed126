"""Whether what runs is well: lock, server, worker, and the environment they have."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from activities.configuration.locations import Roots, host_id
from activities.errors import (
    AutolithError,
    EnvironmentDiffersError,
    LockHeldError,
    NotRunningError,
)
from worker.embedded.attach import find_runtime
from worker.embedded.environment import require_same
from worker.embedded.finding import Finding, fail, ok, warn
from worker.embedded.lock import locked, signer
from worker.embedded.runtime_file import Runtime
from worker.embedded.supervisor import LOCK
from workflows.policy import queues

if TYPE_CHECKING:
    from temporalio.client import Client

OFTEN = 5
"""So many restarts are worth a look into the log."""


async def examine_runtime(roots: Roots, environ: Mapping[str, str]) -> list[Finding]:
    """Check the embedded runtime; that it does not run is no fault."""
    lock = _lock(roots)
    try:
        runtime = await find_runtime(roots)
    except NotRunningError as error:
        is_starting = signer(roots.state / LOCK) is not None
        return [lock, warn("runtime", str(error)) if is_starting else ok("runtime", "not running")]
    except AutolithError as error:
        return [lock, fail("runtime", str(error))]
    own = [lock, _runtime(runtime), _release(runtime), _environment(runtime, roots, environ)]
    return own + await examine_cluster(runtime.address, roots)


async def examine_cluster(address: str, roots: Roots) -> list[Finding]:
    """Check that the server answers, and that somebody polls the queues we use."""
    from worker.connection import connect  # noqa: PLC0415 -- the SDK is slow to import

    try:
        client = await connect(address, roots)
    except AutolithError as error:
        return [fail("server", str(error))]
    served = (queues.SHARED, queues.of_host(host_id(roots.state)))
    return [
        ok("server", f"answers at {address}"),
        *[await _polled(client, name) for name in served],
    ]


def _lock(roots: Roots) -> Finding:
    path = roots.state / LOCK
    if holder := signer(path):
        return ok("lock", f"held by the supervisor, pid {holder.pid}")
    try:
        with locked(path, held=f"{path} is held by a process that cannot be seen from here"):
            return ok("lock", "free")
    except LockHeldError as error:
        return warn("lock", str(error), "another container, or account, serves this state root")


def _runtime(runtime: Runtime) -> Finding:
    restarts = runtime.server_restarts + runtime.worker_restarts
    text = f"supervisor pid {runtime.supervisor.pid}, ready, {restarts} restarts"
    if restarts >= OFTEN:
        return warn("runtime", text, "the logs may say why ('autolith status' names them)")
    return ok("runtime", text)


def _release(runtime: Runtime) -> Finding:
    own, running = version("autolith"), runtime.versions.autolith
    if own == running:
        return ok("release", running)
    advice = "run 'autolith down'; the next command starts this release"
    return warn("release", f"{running} runs, {own} is installed", advice)


def _environment(runtime: Runtime, roots: Roots, environ: Mapping[str, str]) -> Finding:
    try:
        require_same(runtime.environment, environ, roots.state)
    except EnvironmentDiffersError as error:
        return warn("variables", str(error))
    return ok("variables", "the worker has what is set here")


async def _polled(client: "Client", queue: str) -> Finding:
    from temporalio.api.enums.v1 import TaskQueueType  # noqa: PLC0415 -- slow, as above
    from temporalio.api.taskqueue.v1 import TaskQueue  # noqa: PLC0415
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest  # noqa: PLC0415

    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    if answer.pollers:
        return ok("worker", f"polls {queue}")
    return fail("worker", f"nobody polls {queue}", "look into the worker's log")
