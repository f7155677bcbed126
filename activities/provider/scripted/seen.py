"""What a script may ask about a request."""

from dataclasses import dataclass
from typing import Any

import pydantic_core

from activities.errors import ScriptError


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as the script sees it."""

    number: int
    """The server's count of requests, from 1."""
    attempt: int
    """How often this very request has come, from 1."""
    body: dict[str, Any]
    size: int
    model: str
    system: str
    user: str
    """The last user message."""
    results: tuple[str, ...]
    """Every tool result, in order."""
    results_in_turn: int
    """How many of them follow the last user message."""

    @property
    def is_streamed(self) -> bool:
        """Whether the client wants events."""
        return self.body.get("stream") is True

    @property
    def wants_usage(self) -> bool:
        """Whether a streamed reply is to end with the usage."""
        options = self.body.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    def text(self, place: str) -> str:
        """Return the text that the condition *place* looks at."""
        if place == "result":
            return self.results[-1] if self.results else ""
        return self.user if place == "user" else self.system

    def count(self, name: str) -> int:
        """Return the number that the condition *name* looks at."""
        counts = {
            "results": len(self.results),
            "results-in-turn": self.results_in_turn,
            "request": self.number,
            "attempt": self.attempt,
        }
        return counts[name]


def see(content: bytes, number: int, attempt: int) -> SeenRequest:
    """Return what the request with the body *content* says.

    Raises:
        ScriptError: it is no Chat Completions request.
    """
    try:
        body = pydantic_core.from_json(content)
    except ValueError as error:
        raise ScriptError("the request is not JSON") from error
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise ScriptError("the request has no list of messages")
    spoken = [(one.get("role"), _text(one.get("content"))) for one in messages]
    users = [place for place, (role, _) in enumerate(spoken) if role == "user"]
    last = users[-1] if users else -1
    return SeenRequest(
        number=number,
        attempt=attempt,
        body=body,
        size=len(content),
        model=str(body.get("model", "")),
        system="\n".join(text for role, text in spoken if role in ("system", "developer")),
        user=spoken[last][1] if users else "",
        results=tuple(text for role, text in spoken if role == "tool"),
        results_in_turn=sum(role == "tool" for role, _ in spoken[last + 1 :]),
    )


def _text(content: object) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
