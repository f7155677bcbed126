"""Close a turn: the one activity that the turn and, in its place, the conversation order."""

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from workflows.contracts.turn import TurnClosed, TurnClosing
from workflows.policy import timeouts
from workflows.policy.loss import lost
from workflows.ports.transcript import TranscriptPort


async def close_turn(closing: TurnClosing) -> TurnClosed:
    """Have every open call settled and the end recorded; tried until it succeeds.

    The engine repeats what failed, for example on a full disk; what a worker lost is
    ordered again here, at once, like every other attempt.
    """
    while True:
        try:
            return await workflow.execute_activity_method(
                TranscriptPort.close_turn,
                closing,
                start_to_close_timeout=timeouts.STORE_WRITE,
                heartbeat_timeout=timeouts.HEARTBEAT,
                retry_policy=RetryPolicy(maximum_interval=timeouts.HEARTBEAT),
                summary=f"close turn {closing.key.turn}: {closing.outcome.value}",
            )
        except ActivityError as error:
            if lost(error) is None:
                raise
