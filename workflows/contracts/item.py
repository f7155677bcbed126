"""The history of a conversation in one portable shape.

Items are rows of the store and never enter a workflow history.  A provider
adapter translates them to its wire (`_to_wire`) and back (`_from_wire`).
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from workflows.contracts.base import Contract
from workflows.contracts.tool import CallStatus


class UserItem(Contract):
    """What the owner said: the message that opened a turn, or steering."""

    kind: Literal["user"] = "user"
    message: str
    text: str
    steering: bool = False


class NoticeItem(Contract):
    """Something Autolith tells the model, such as the end of a job."""

    kind: Literal["notice"] = "notice"
    text: str
    job: str | None = None


class ReasoningItem(Contract):
    """Reasoning as the provider showed it; *fields* is what it wants back."""

    kind: Literal["reasoning"] = "reasoning"
    text: str
    family: str = ""
    """The provider family that can read *fields*; others never see them."""
    fields: dict[str, Any] = Field(default_factory=dict)


class AssistantItem(Contract):
    """Text of the model."""

    kind: Literal["assistant"] = "assistant"
    text: str


class CallItem(Contract):
    """A tool call as the model wrote it."""

    kind: Literal["call"] = "call"
    ordinal: int
    call_id: str
    """The id that goes over the wire, made unique within the request by us."""
    tool: str
    """Canonical name, or the model's own word when it names no tool of ours."""
    arguments: str
    """The argument text exactly as received."""


class ResultItem(Contract):
    """The one result of a call."""

    kind: Literal["result"] = "result"
    ordinal: int
    call_id: str
    tool: str
    status: CallStatus
    text: str
    details: dict[str, Any] = Field(default_factory=dict)
    """Data for screens and later tools: captures, counts, revision, diff."""


Item = Annotated[
    UserItem | NoticeItem | ReasoningItem | AssistantItem | CallItem | ResultItem,
    Field(discriminator="kind"),
]
