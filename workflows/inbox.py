"""The inbox of a conversation: which message opens a turn, which steers, which waits.

A plain object without waits.  A message is taken exactly once: whoever sends it
again gets the receipt of the first time.
"""

from collections import deque
from collections.abc import Sequence

from workflows.contracts.conversation import (
    ConversationState,
    Delivery,
    Disposition,
    QueuedMessage,
    Receipt,
    Submission,
)
from workflows.policy import timeouts


class Inbox:
    """Messages that no turn has taken yet, and the receipts of those it knows."""

    def __init__(self, state: ConversationState) -> None:
        self.queue = deque(state.queue)
        self.steering: list[str] = []
        """Messages for the running turn that it has not reported as consumed."""
        self.held = state.held
        """Whether the queue waits until somebody submits again."""
        self._receipts = {receipt.message: receipt for receipt in state.taken}

    @property
    def is_due(self) -> bool:
        """Whether a message waits for a turn that may start."""
        return bool(self.queue) and not self.held

    @property
    def taken(self) -> tuple[Receipt, ...]:
        """The newest receipts, oldest first."""
        return tuple(self._receipts.values())

    def take(self, submission: Submission, *, running: int | None, next_turn: int) -> Receipt:
        """Place a message and return its receipt; a known message keeps its first one."""
        known = self._receipts.get(submission.message)
        if known is not None:
            return known
        receipt = self._place(submission, running=running, next_turn=next_turn)
        self._receipts[receipt.message] = receipt
        while len(self._receipts) > timeouts.REMEMBERED_RECEIPTS:
            del self._receipts[next(iter(self._receipts))]
        return receipt

    def requeue_missed(self, consumed: Sequence[str]) -> None:
        """Make steering that the turn missed work of its own, before older follow-ups."""
        missed = [message for message in self.steering if message not in consumed]
        self.queue.extendleft(QueuedMessage(message=message) for message in reversed(missed))
        self.steering.clear()

    def _place(self, submission: Submission, *, running: int | None, next_turn: int) -> Receipt:
        message = submission.message
        self.held = False
        if running is not None and submission.delivery is Delivery.STEER:
            self.steering.append(message)
            return Receipt(message=message, disposition=Disposition.STEERING, turn=running)
        self.queue.append(QueuedMessage(message=message, answerable=submission.answerable))
        position = len(self.queue)
        if running is None and position == 1:
            return Receipt(message=message, disposition=Disposition.STARTED, turn=next_turn)
        return Receipt(message=message, disposition=Disposition.QUEUED, position=position)
