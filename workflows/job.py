"""The job workflow: one detached command, watched until it ends.

The command belongs to no worker.  Whichever worker of its host is alive watches it;
one that is lost is replaced by the next, which finds the same process again.  The
end is stored first and then told to the conversation, which delivers it.
"""

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from workflows.contracts.conversation import ConversationSignal
from workflows.contracts.job import JobOutcome, JobStart, JobState
from workflows.policy import identity, timeouts
from workflows.policy.loss import lost
from workflows.ports.tools import ToolPort


@workflow.defn(failure_exception_types=[Exception])
class JobWorkflow:
    """Owns the watch over one detached execution."""

    @workflow.run
    async def run(self, start: JobStart) -> JobOutcome:
        """Watch until the command ends, tell the conversation, and return the outcome."""
        _refuse_strangers(start)
        outcome = await self._watch(start)
        conversation = workflow.get_external_workflow_handle(
            identity.conversation(start.conversation)
        )
        try:
            await conversation.signal(ConversationSignal.JOB_FINISHED, outcome)
        except FailureError:
            # The conversation is gone; its outcome stays in the store for whoever reopens it.
            workflow.logger.warning("job %s has no conversation to report to", start.job)
        return outcome

    async def _watch(self, start: JobStart) -> JobOutcome:
        while True:
            try:
                return await workflow.execute_activity_method(
                    ToolPort.watch_job,
                    start,
                    start_to_close_timeout=timeouts.JOB,
                    heartbeat_timeout=timeouts.HEARTBEAT,
                    retry_policy=RetryPolicy(maximum_interval=timeouts.HEARTBEAT),
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                    summary=f"watch {start.job}",
                )
            except ActivityError as error:
                if lost(error) is None:
                    # Nobody can watch it any more; whoever waits for it has to hear that.
                    return JobOutcome(
                        conversation=start.conversation, job=start.job, state=JobState.UNKNOWN
                    )


def _refuse_strangers(start: JobStart) -> None:
    """Only a turn of the conversation starts its jobs: a replayed start does nothing."""
    parent = workflow.info().parent
    if parent is None or not parent.workflow_id.startswith(f"turn:{start.conversation}:"):
        raise ApplicationError("A job is started by its turn", type="stranger", non_retryable=True)
