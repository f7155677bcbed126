"""Events: how screens live.

One ordered log per conversation.  A reader asks for what came after its cursor,
so attaching, detaching and reconnecting need no protocol.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from workflows.contracts.base import Contract


class EventKind(StrEnum):
    """What happened.  The comment names the keys of the body."""

    MESSAGE = "message"  # message, text, delivery: input was stored, before it is accepted
    TURN_STARTED = "turn-started"  # message, text
    STEERING = "steering"  # message, text: reached the model
    NOTICE = "notice"  # text, job?
    ATTEMPT_STARTED = "attempt-started"  # attempt, model
    TEXT = "text"  # attempt, text: a delta; pruned when the item lands
    REASONING = "reasoning"  # attempt, text: a delta; pruned when the item lands
    ATTEMPT_FAILED = "attempt-failed"  # attempt, failure, message, output_started, delay, final
    ANSWER = "answer"  # text, reasoning: one reply is complete
    USAGE = "usage"  # input, output, total, cached, reasoning
    CALL = "call"  # ordinal, tool, label, arguments, state
    CALL_RESUMED = "call-resumed"  # ordinal, attempt, resumption: after a lost worker
    CALL_OUTPUT = "call-output"  # ordinal, line: the last line, pruned with the result
    RESULT = "result"  # ordinal, tool, status, text, details
    PERMISSION_ASKED = "permission-asked"  # ordinal, request, tool, command, sandbox
    PERMISSION_ANSWERED = "permission-answered"  # ordinal, request, answer
    JOB_STARTED = "job-started"  # job, label
    JOB_FINISHED = "job-finished"  # job, state, text
    TURN_ENDED = "turn-ended"  # outcome, failure, message


DELTAS = (EventKind.TEXT, EventKind.REASONING, EventKind.CALL_OUTPUT)
"""Kinds that only bridge the time until the stored item lands."""


class Event(Contract):
    """One entry of a conversation's log."""

    conversation: str
    seq: int
    """The cursor: gapless per conversation, in commit order."""
    turn: int = 0
    request: int = 0
    kind: EventKind
    at: float
    """Unix time in seconds."""
    body: dict[str, Any] = Field(default_factory=dict)
