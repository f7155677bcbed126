"""What an account without the key can send and fetch: raw requests, and nothing of ours."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage, WorkflowIdReusePolicy
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.query.v1 import WorkflowQuery
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.update.v1 import Input, Meta, Outcome, Request, WaitPolicy
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    ListWorkflowExecutionsRequest,
    QueryWorkflowRequest,
    RecordActivityTaskHeartbeatByIdRequest,
    RespondActivityTaskCompletedByIdRequest,
    RespondActivityTaskFailedByIdRequest,
    SignalWorkflowExecutionRequest,
    StartWorkflowExecutionRequest,
    UpdateWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError

NAMESPACE = "default"
COMPLETED = (
    UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
)
ALLOW_DUPLICATE = WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE


@dataclass(frozen=True)
class Stranger:
    """Speaks to the server as anybody who reaches the port may."""

    client: Client
    queue: str

    async def start(self, workflow: str, kind: str, payloads: Sequence[Payload]) -> str:
        """Start a workflow and return its run id."""
        answer = await self.client.workflow_service.start_workflow_execution(
            StartWorkflowExecutionRequest(
                namespace=NAMESPACE,
                workflow_id=workflow,
                workflow_type=WorkflowType(name=kind),
                task_queue=TaskQueue(name=self.queue),
                input=Payloads(payloads=payloads),
                workflow_id_reuse_policy=ALLOW_DUPLICATE,
                request_id=uuid.uuid4().hex,
            )
        )
        return answer.run_id

    async def signal(self, workflow: str, name: str, payloads: Sequence[Payload]) -> None:
        """Signal a workflow."""
        await self.client.workflow_service.signal_workflow_execution(
            SignalWorkflowExecutionRequest(
                namespace=NAMESPACE,
                workflow_execution=WorkflowExecution(workflow_id=workflow),
                signal_name=name,
                input=Payloads(payloads=payloads),
                request_id=uuid.uuid4().hex,
            )
        )

    async def update(self, workflow: str, name: str, payloads: Sequence[Payload]) -> Outcome:
        """Update a workflow and return what came of it."""
        answer = await self.client.workflow_service.update_workflow_execution(
            UpdateWorkflowExecutionRequest(
                namespace=NAMESPACE,
                workflow_execution=WorkflowExecution(workflow_id=workflow),
                wait_policy=WaitPolicy(lifecycle_stage=COMPLETED),
                request=Request(
                    meta=Meta(update_id=uuid.uuid4().hex),
                    input=Input(name=name, args=Payloads(payloads=payloads)),
                ),
            )
        )
        return answer.outcome

    async def query(self, workflow: str, name: str, payloads: Sequence[Payload]) -> Message:
        """Query a workflow and return the raw answer, also if it is an error."""
        try:
            return await self.client.workflow_service.query_workflow(
                QueryWorkflowRequest(
                    namespace=NAMESPACE,
                    execution=WorkflowExecution(workflow_id=workflow),
                    query=WorkflowQuery(query_type=name, query_args=Payloads(payloads=payloads)),
                )
            )
        except RPCError as error:
            return error.grpc_status

    async def complete(self, workflow: str, activity: str, payloads: Sequence[Payload]) -> None:
        """Complete somebody else's activity."""
        await self.client.workflow_service.respond_activity_task_completed_by_id(
            RespondActivityTaskCompletedByIdRequest(
                namespace=NAMESPACE,
                workflow_id=workflow,
                activity_id=activity,
                result=Payloads(payloads=payloads) if payloads else None,
            )
        )

    async def fail(self, workflow: str, activity: str, failure: Failure) -> None:
        """Fail somebody else's activity."""
        await self.client.workflow_service.respond_activity_task_failed_by_id(
            RespondActivityTaskFailedByIdRequest(
                namespace=NAMESPACE, workflow_id=workflow, activity_id=activity, failure=failure
            )
        )

    async def heartbeat(self, workflow: str, activity: str, payloads: Sequence[Payload]) -> None:
        """Heartbeat in somebody else's name."""
        await self.client.workflow_service.record_activity_task_heartbeat_by_id(
            RecordActivityTaskHeartbeatByIdRequest(
                namespace=NAMESPACE,
                workflow_id=workflow,
                activity_id=activity,
                details=Payloads(payloads=payloads),
            )
        )

    async def history(self, workflow: str, run: str = "") -> list[HistoryEvent]:
        """Fetch a history."""
        answer = await self.client.workflow_service.get_workflow_execution_history(
            GetWorkflowExecutionHistoryRequest(
                namespace=NAMESPACE,
                execution=WorkflowExecution(workflow_id=workflow, run_id=run),
            )
        )
        return list(answer.history.events)

    async def everything(self, workflow: str) -> list[Message]:
        """Fetch all that the server tells anybody about *workflow*."""
        service = self.client.workflow_service
        described = await service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(
                namespace=NAMESPACE, execution=WorkflowExecution(workflow_id=workflow)
            )
        )
        listed = await service.list_workflow_executions(
            ListWorkflowExecutionsRequest(
                namespace=NAMESPACE, query=f"WorkflowId STARTS_WITH '{workflow}'"
            )
        )
        queries = ("__stack_trace", "__enhanced_stack_trace", "__temporal_workflow_metadata")
        answers = [await self.query(workflow, name, []) for name in queries]
        return [*await self.history(workflow), described, listed, *answers]


def payloads_of(events: Sequence[HistoryEvent], attributes: str, field: str) -> list[Payload]:
    """Return the payloads in *field* of the first event with *attributes*."""
    for event in events:
        if event.HasField(attributes):  # type: ignore[arg-type] # the name is a parameter
            found: Payloads = getattr(getattr(event, attributes), field)
            return list(found.payloads)
    raise LookupError(attributes)
