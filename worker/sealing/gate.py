"""The gate in front of every workflow: what is not sealed never reaches its code.

The codec puts a stand-in where it refuses a payload, and sees nothing where there
is no payload at all.  Both would make a workflow task fail for ever: an activity
"completed" without a result, a signal without its argument.  The gate judges each
activation as a whole, and turns what is refused into what a workflow can live
with: a start fails, a signal is dropped, an update is rejected, and an activity
or a child fails.  It decides by history and keys alone, so a replay decides alike.
"""

import logging
from typing import TYPE_CHECKING, TypeAlias

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import CommandType
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.activity_result import ActivityResolution
from temporalio.bridge.proto.child_workflow import ChildWorkflowResult
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import (
    SerializationContext,
    StorageDriverStoreContext,
    WorkflowSerializationContext,
)
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker._command_aware_visitor import CommandInfo

from worker.sealing.failures import refused_failure, vouch
from worker.sealing.seal import Refusal, is_refused, refused

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

_log = logging.getLogger(__name__)
_Outcome: TypeAlias = ActivityResolution | ChildWorkflowResult
BOUND_TO_OURSELVES = (CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,)
NO_TARGET = StorageDriverStoreContext()
_NOT_ONE = refused(Refusal.ABSENT)


class GatedRunner(WorkflowRunner):
    """Runs workflows with another runner, behind the gate."""

    def __init__(self, runner: WorkflowRunner) -> None:
        self._runner = runner

    def prepare_workflow(self, defn: workflow._Definition) -> None:
        """Prepare *defn* as the runner does."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Create the runner's instance, and stand in front of it."""
        return _GatedInstance(self._runner.create_instance(det))

    def set_worker_level_failure_exception_types(
        self, types: "Sequence[type[BaseException]]"
    ) -> None:
        """Tell the runner which exceptions fail a workflow."""
        self._runner.set_worker_level_failure_exception_types(types)


class _GatedInstance(WorkflowInstance):
    """One running workflow that sees only what was admitted."""

    def __init__(self, instance: WorkflowInstance) -> None:
        self._instance = instance
        info = instance.get_info()
        self._own_context = WorkflowSerializationContext(
            namespace=info.namespace, workflow_id=info.workflow_id
        )

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        admit(act)
        return self._instance.activate(act)

    def get_serialization_context(
        self, command_info: CommandInfo | None
    ) -> SerializationContext | None:
        # The seal binds to the workflow's id alone, which for activities and for the
        # workflow itself is known here.  The SDK asks for every payload, and its own
        # answer runs code inside the sandbox: a fifth of a worker's time.
        if command_info is None or command_info.command_type in BOUND_TO_OURSELVES:
            return self._own_context
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(
        self,
        command_info: CommandInfo | None,  # noqa: ARG002 -- the SDK's signature
    ) -> StorageDriverStoreContext:
        # Objects are named by their content alone, so it does not matter for whom they are.
        return NO_TARGET

    def get_info(self) -> workflow.Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()


def admit(activation: WorkflowActivation) -> None:
    """Change *activation* so that nothing in it can stop a workflow."""
    kept = [job for job in activation.jobs if _is_admitted(job)]
    if len(kept) < len(activation.jobs):
        del activation.jobs[:]
        activation.jobs.extend(kept)
    for job in activation.jobs:
        _disarm(job)


def _is_admitted(job: WorkflowActivationJob) -> bool:
    if not job.HasField("signal_workflow") or _is_one_value(job.signal_workflow.input):
        return True
    _log.warning("A signal was dropped: it does not carry one value sealed for this workflow")
    return False


def _disarm(job: WorkflowActivationJob) -> None:
    match job.WhichOneof("variant"):
        case "initialize_workflow":
            _require_one(job.initialize_workflow.arguments)
        case "do_update":
            _require_one(job.do_update.input)
        case "resolve_activity":
            _require_result(job.resolve_activity.result, _failed_activity())
        case "resolve_child_workflow_execution":
            _require_result(job.resolve_child_workflow_execution.result, _failed_child())
        case "resolve_signal_external_workflow":
            _vouch_for_core(job.resolve_signal_external_workflow.failure)
        case "resolve_request_cancel_external_workflow":
            _vouch_for_core(job.resolve_request_cancel_external_workflow.failure)


def _require_one(arguments: "MutableSequence[Payload]") -> None:
    """Put one stand-in in the place of *arguments* that are not one sealed value."""
    if not _is_one_value(arguments):
        del arguments[:]
        arguments.append(_NOT_ONE)


def _is_one_value(arguments: "Sequence[Payload]") -> bool:
    return len(arguments) == 1 and not is_refused(arguments[0])


def _require_result(outcome: _Outcome, failure: Failure) -> None:
    """Turn an *outcome* that claims success without a sealed result into *failure*."""
    if not outcome.HasField("completed"):
        return
    completed = outcome.completed
    if not completed.HasField("result") or is_refused(completed.result):
        outcome.failed.failure.CopyFrom(failure)


def _vouch_for_core(failure: Failure) -> None:
    """Vouch for what the SDK itself says about a signal or a cancellation of ours."""
    if failure.HasField("application_failure_info"):
        vouch(failure)


def _failed_activity() -> Failure:
    failure = Failure(message="The result of an activity was refused")
    failure.activity_failure_info.SetInParent()
    failure.cause.CopyFrom(_unsealed_result())
    return failure


def _failed_child() -> Failure:
    failure = Failure(message="The result of a child workflow was refused")
    failure.child_workflow_execution_failure_info.SetInParent()
    failure.cause.CopyFrom(_unsealed_result())
    return failure


def _unsealed_result() -> Failure:
    failure = refused_failure("A result was refused: it is not sealed for this workflow")
    vouch(failure)
    return failure
