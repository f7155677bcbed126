"""A permission question, as its event words it."""

from dataclasses import dataclass

from workflows.contracts.event import Event


@dataclass(frozen=True)
class Question:
    """A permission question that waits for an answer."""

    request: str
    tool: str
    command: str
    sandbox: bool

    @classmethod
    def of(cls, event: Event) -> "Question":
        """Return the question that *event* asks."""
        body = event.body
        sandbox = bool(body.get("sandbox"))
        return cls(body["request"], body["tool"], body.get("command") or "", sandbox)
