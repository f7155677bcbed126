"""A scripted reply as the pieces and documents of the Chat Completions wire."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pydantic_core

from activities.configuration.forms import Form
from activities.configuration.properties import properties
from activities.provider.scripted.script import Reply
from activities.provider.scripted.seen import SeenRequest
from activities.provider.scripted.values import as_json

CHARACTERS_PER_TOKEN = 4
DONE = b"data: [DONE]\n\n"
Delta = dict[str, Any]


@dataclass(frozen=True)
class FilledCall:
    """A call whose arguments are filled in."""

    call_id: str
    name: str
    arguments: str


class Answer:
    """One reply, filled in for one request.

    Raises:
        ScriptError: a ``:match`` of the reply finds nothing in the request.
    """

    def __init__(self, reply: Reply, seen: SeenRequest) -> None:
        self.reply, self.seen = reply, seen
        self.id = f"scripted-{seen.number}"
        self.calls = [
            FilledCall(
                f"call_{seen.number}_{index}" if call.call_id is None else call.call_id,
                call.name,
                _text(call.arguments, seen),
            )
            for index, call in enumerate(reply.calls)
        ]
        self._created = int(time.time())

    @property
    def finish(self) -> str:
        """Return why the reply ends."""
        return self.reply.finish or ("tool_calls" if self.calls else "stop")

    def pieces(self) -> Iterator[bytes]:
        """Yield an event for each piece of reasoning, text and calls."""
        for name, text in (("reasoning", self.reply.reasoning), ("content", self.reply.text)):
            for piece in self._cut(text):
                yield self._chunk({name: piece})
        for index, call in enumerate(self.calls):
            opening = {"name": call.name, "arguments": ""}
            head = {"index": index, "id": call.call_id, "type": "function", "function": opening}
            yield self._chunk({"tool_calls": [head]})
            for piece in self._cut(call.arguments):
                part = {"index": index, "function": {"arguments": piece}}
                yield self._chunk({"tool_calls": [part]})

    def opening(self) -> bytes:
        """Return the event that opens the stream."""
        return self._chunk({"role": "assistant", "content": ""})

    def ending(self) -> bytes:
        """Return the events that end the stream."""
        end = self._chunk({}, self.finish)
        if self.seen.wants_usage and self.reply.counts:
            end += event(
                self._head("chat.completion.chunk") | {"choices": [], "usage": self.usage}
            )
        return end + DONE

    def document(self) -> bytes:
        """Return the whole reply for a client that does not stream."""
        message: Delta = {"role": "assistant", "content": self.reply.text or None}
        if self.reply.reasoning:
            message["reasoning"] = self.reply.reasoning
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        usage = {"usage": self.usage} if self.reply.counts else {}
        return pydantic_core.to_json(self._head("chat.completion") | {"choices": [choice]} | usage)

    @property
    def usage(self) -> dict[str, Any]:
        """Return the claimed token counts, or an estimate."""
        said = self.reply.usage
        written = [self.reply.text, self.reply.reasoning, *(call.arguments for call in self.calls)]
        prompt = said.prompt if said else self.seen.size // CHARACTERS_PER_TOKEN
        completion = said.completion if said else sum(map(len, written)) // CHARACTERS_PER_TOKEN
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": said.cached if said else 0},
            "completion_tokens_details": {"reasoning_tokens": said.reasoning if said else 0},
        }

    def _cut(self, text: str) -> Iterator[str]:
        size = self.reply.piece
        return (text[start : start + size] for start in range(0, len(text), size))

    def _chunk(self, delta: Delta, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event(self._head("chat.completion.chunk") | {"choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self._created,
            "model": self.seen.model,
        }


def event(document: object) -> bytes:
    """Return a server-sent event."""
    return b"data: " + pydantic_core.to_json(document) + b"\n\n"


def error_document(message: str, code: str) -> dict[str, Any]:
    """Return an error as providers write it."""
    return {"error": {"message": message, "type": code, "code": code}}


def _text(arguments: Form, seen: SeenRequest) -> str:
    if isinstance(arguments, str):
        return arguments
    values = {key: as_json(value, seen) for key, value in properties(arguments).items()}
    return pydantic_core.to_json(values).decode()
