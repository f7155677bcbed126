"""Tools: what one declares, what a call may do, and what became of it."""

from enum import StrEnum
from typing import Any

from workflows.contracts.base import Contract
from workflows.contracts.key import CallKey
from workflows.contracts.permission import Answer, Grant


class EffectClass(StrEnum):
    """What may be done with a call whose attempt was lost (design: A turn)."""

    OBSERVE = "observe"
    """Changes nothing: repeat it freely."""
    KEYED = "keyed"
    """Safe to repeat under its key."""
    ADOPTABLE = "adoptable"
    """Its process outlives the worker: find it again."""
    EFFECT = "effect"
    """At most once: a lost attempt is an unknown outcome."""


class Concurrency(StrEnum):
    """Which calls of one reply may run beside this one (spec: Providers)."""

    CONCURRENT = "concurrent"
    EXCLUSIVE = "exclusive"
    BARRIER = "barrier"


class ToolDeclaration(Contract):
    """A tool as a provider and a policy see it."""

    name: str
    """Canonical ``namespace.name``."""
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the one argument object; closed."""
    effect: EffectClass
    concurrency: Concurrency = Concurrency.CONCURRENT
    asks: bool = False
    """Whether a permission mode decides about each call."""


class CallStatus(StrEnum):
    """How a call ended.  Exactly one of these per accepted call."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class ToolOrder(Contract):
    """Run one accepted call.  The arguments are in the store, under the key."""

    key: CallKey
    attempt: int = 1
    grant: Grant = Grant.FULL
    answer: Answer | None = None
    """What a person said, when somebody was asked."""


class JobHandoff(Contract):
    """A call left a detached command behind, to be watched as a job."""

    job: str
    execution: str


class CallReport(Contract):
    """What the workflow learns of a finished call: never its text."""

    key: CallKey
    status: CallStatus
    job: JobHandoff | None = None
