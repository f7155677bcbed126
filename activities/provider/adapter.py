"""What a provider adapter is: a wire protocol and no state."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workflows.contracts.item import Item
from workflows.contracts.tool import ToolDeclaration
from workflows.contracts.usage import Usage


class DeltaKind(StrEnum):
    """What a piece of a stream belongs to."""

    TEXT = "text"
    REASONING = "reasoning"
    CALL = "call"


@dataclass(frozen=True)
class Delta:
    """One piece of a reply while it streams.  For display only."""

    kind: DeltaKind
    text: str


@dataclass(frozen=True)
class Prompt:
    """One provider request in the portable shape."""

    model: str
    """The provider's own name of the model."""
    system: str
    items: tuple[Item, ...]
    tools: tuple[ToolDeclaration, ...] = ()
    effort: str | None = None


@dataclass(frozen=True)
class ReplyCall:
    """A call as the provider sent it; *tool* is decoded to the canonical name."""

    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True)
class ModelReply:
    """A complete reply."""

    text: str = ""
    reasoning: str = ""
    reasoning_fields: dict[str, object] = field(default_factory=dict)
    calls: tuple[ReplyCall, ...] = ()
    finish: str | None = None
    usage: Usage = field(default_factory=Usage)
    identifiers: dict[str, str] = field(default_factory=dict)
    """The provider's ids of this exchange, for audits."""


class ProviderAdapter(Protocol):
    """One configured endpoint of one wire protocol."""

    async def complete(self, prompt: Prompt, on_delta: Callable[[Delta], None]) -> ModelReply:
        """Send *prompt* and return the complete reply.

        *on_delta* is called for every piece as it arrives.  Cancelling the coroutine
        closes the connection.

        Raises:
            ProviderError: the attempt failed; its fields say how.
        """
        ...
