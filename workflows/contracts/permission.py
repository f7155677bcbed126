"""Permission: the mode, a judgement, the question and its answer."""

from enum import StrEnum

from workflows.contracts.base import Contract
from workflows.contracts.key import CallKey


class PermissionMode(StrEnum):
    """How commands are judged (domain reference 6.1)."""

    ASK = "ask"
    SANDBOX = "sandbox"
    FULL = "full"


class Grant(StrEnum):
    """How an allowed command may run."""

    SANDBOX = "sandbox"
    FULL = "full"


class Verdict(StrEnum):
    """What a policy says about one call."""

    ALLOW = "allow"
    SANDBOX = "sandbox"
    ASK = "ask"
    DENY = "deny"
    """Not allowed: the call has its result already."""
    INVALID = "invalid"
    """Not judged: the call cannot run and has its result already."""


class Answer(StrEnum):
    """What a person may answer."""

    FULL = "full"
    SANDBOX = "sandbox"
    DENY = "deny"


class PermissionRequest(Contract):
    """An open question.  Its text is in the store, under the call's key."""

    key: CallKey
    tool: str

    @property
    def id(self) -> str:
        """Name the question within its conversation: ``turn.request.ordinal``."""
        return f"{self.key.turn}.{self.key.request}.{self.key.ordinal}"


class PermissionAnswer(Contract):
    """The owner's answer, passed to the turn that waits for it."""

    key: CallKey
    answer: Answer
