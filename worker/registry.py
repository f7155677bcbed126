"""Which workflows and activities a worker serves, on which queues, with which patience."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client
from temporalio.worker import Interceptor, Worker

from worker.sandbox import workflow_runner
from workflows.conversation import ConversationWorkflow
from workflows.job import JobWorkflow
from workflows.policy import queues, timeouts
from workflows.ports.provider import ProviderPort
from workflows.ports.tools import ToolPort
from workflows.ports.transcript import TranscriptPort
from workflows.turn import TurnWorkflow

WORKFLOWS = (ConversationWorkflow, TurnWorkflow, JobWorkflow)


@dataclass(frozen=True)
class Ports:
    """The implementations behind every port."""

    provider: ProviderPort
    tools: ToolPort
    transcript: TranscriptPort


def build_workers(
    client: Client,
    ports: Ports,
    *,
    host: str,
    shared: str = queues.SHARED,
    interceptors: Sequence[Interceptor] = (),
    fail_on: Sequence[type[BaseException]] = (),
) -> tuple[Worker, Worker]:
    """Return the worker of the shared queue and the worker of the host's queue.

    A defect in conversation code suspends it until a fixed worker is deployed.  Tests
    pass ``fail_on=(Exception,)`` so that a defect fails at once.
    """
    patience: dict[str, Any] = {
        "workflow_runner": workflow_runner(),
        "workflow_failure_exception_types": fail_on,
        "sticky_queue_schedule_to_start_timeout": timeouts.STICKY,
        "max_heartbeat_throttle_interval": timeouts.HEARTBEAT_THROTTLE,
        "default_heartbeat_throttle_interval": timeouts.HEARTBEAT_THROTTLE,
        "graceful_shutdown_timeout": timeouts.GRACEFUL_STOP,
        "interceptors": interceptors,
    }
    for_all = Worker(
        client,
        task_queue=shared,
        workflows=WORKFLOWS,
        activities=[ports.transcript.close_turn],
        **patience,
    )
    bound = Worker(
        client,
        task_queue=queues.of_host(host),
        workflows=WORKFLOWS,
        activities=[
            ports.provider.request_model,
            ports.tools.run_tool,
            ports.tools.watch_job,
            ports.transcript.close_turn,
        ],
        **patience,
    )
    return for_all, bound
