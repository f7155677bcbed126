"""The bare floor: parent, child workflow and no-op activities on the same server.

What Temporal itself costs for the shape of one turn, without sealing, store, provider
or tools.  Run as ``python -m tests.bench.floor ADDRESS`` it is the floor's worker.
"""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

QUEUE = "bench-floor"
ONE_TURN = 4


@activity.defn
async def nothing() -> None:
    """Do nothing."""


@workflow.defn
class FloorChild:
    """Runs no-op activities one after the other."""

    @workflow.run
    async def run(self, activities: int) -> None:
        """Run *activities* of them."""
        for _ in range(activities):
            await workflow.execute_activity(
                nothing,
                start_to_close_timeout=timedelta(minutes=1),
                heartbeat_timeout=timedelta(seconds=10),
                retry_policy=RetryPolicy(maximum_attempts=1),
            )


@workflow.defn
class FloorParent:
    """Runs one child."""

    @workflow.run
    async def run(self, activities: int) -> None:
        """Run a child with *activities* activities."""
        await workflow.execute_child_workflow(
            FloorChild.run, activities, id=f"{workflow.info().workflow_id}-child"
        )


async def serve(address: str) -> None:
    """Serve the floor until killed."""
    client = await Client.connect(address)
    restrictions = SandboxRestrictions.default.with_passthrough_modules("tests")
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[FloorParent, FloorChild],
        activities=[nothing],
        workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions),
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=2),
    ):
        print("ready", flush=True)  # noqa: T201 -- the stage waits for it
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
