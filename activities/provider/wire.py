"""The portable history as a Chat Completions request.

Every call is followed at once by its results, in order, and everything said in
between comes after them: a provider refuses any other shape, for ever.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from activities.provider.adapter import Prompt
from activities.provider.tool_names import wire_name
from workflows.contracts.item import (
    AssistantItem,
    CallItem,
    Item,
    NoticeItem,
    ReasoningItem,
    ResultItem,
    UserItem,
)
from workflows.contracts.tool import ToolDeclaration

Message = dict[str, Any]

NOTICE = "[Notice from Autolith, not from the user]\n"
"""Opens a notice.

A notice travels as a user message: many servers know no developer role, and the
chat templates of others refuse a system message that is not the first.
"""
UNREADABLE = "unreadable-arguments"
"""The key under which argument text that is no object goes back.

Several servers parse the arguments of every earlier call and refuse the whole
request, for ever, when one does not (field case A-04).
"""


def as_body(prompt: Prompt, family: str) -> bytes:
    """Return the JSON body of *prompt*; non-ASCII text is sent as UTF-8 bytes."""
    body = _to_wire(prompt, family)
    try:
        return pydantic_core.to_json(body)
    except (pydantic_core.PydanticSerializationError, UnicodeEncodeError):
        # Half a surrogate pair, out of a file name or a broken reply: it has no bytes.
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def messages(system: str, items: tuple[Item, ...], family: str) -> list[Message]:
    """Return the messages of a conversation; reasoning goes back to its own *family* only."""
    history = _History(family)
    if system:
        history.messages.append({"role": "system", "content": system})
    for item in items:
        history.add(item)
    history.close()
    return history.messages


def pairing_faults(wire: list[Message]) -> list[str]:
    """Return what is wrong with the pairing of calls and results, nothing if it is right."""
    faults: list[str] = []
    seen: set[str] = set()
    waiting: list[str] = []
    for message in wire:
        if message["role"] == "tool":
            call = message["tool_call_id"]
            if not waiting or waiting[0] != call:
                faults.append(f"the result {call} does not follow its call in order")
            waiting = [other for other in waiting if other != call]
            continue
        faults += [f"the call {call} has no result" for call in waiting]
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        faults += [f"the id {call} is used twice" for call in waiting if call in seen]
        seen.update(waiting)
    return faults + [f"the call {call} has no result" for call in waiting]


def _to_wire(prompt: Prompt, family: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": prompt.model,
        "messages": messages(prompt.system, prompt.items, family),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.tools:
        # An empty list, or a choice without tools, is an error to many servers.
        body["tools"] = [_tool(declaration) for declaration in prompt.tools]
    if prompt.effort:
        # Some serving stacks reject any effort parameter, so it is sent only when set.
        body["reasoning_effort"] = prompt.effort
    return body


def _tool(declaration: ToolDeclaration) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": wire_name(declaration.name),
            "description": declaration.description,
            "parameters": declaration.parameters,
        },
    }


@dataclass
class _Reply:
    """One assistant message while its items are collected."""

    reasoning: dict[str, Any] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    calls: list[CallItem] = field(default_factory=list)
    results: dict[str, ResultItem] = field(default_factory=dict)


class _History:
    """Collects items into messages; what is said between calls and results waits."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.messages: list[Message] = []
        self._reply = _Reply()
        self._waiting: list[Message] = []
        self._used: set[str] = set()

    def add(self, item: Item) -> None:
        reply = self._reply
        if isinstance(item, ResultItem):
            reply.results.setdefault(item.call_id, item)
        elif isinstance(item, UserItem):
            self._say(item.text)
        elif isinstance(item, NoticeItem):
            self._say(f"{NOTICE}{item.text}")
        else:
            self._continue(item)

    def close(self) -> None:
        """Write the reply that is open, then what was said while it was."""
        reply, self._reply = self._reply, _Reply()
        if reply.text or reply.calls:
            ids = [self._unique(call.call_id) for call in reply.calls]
            self.messages.append(_assistant(reply, ids))
            self.messages += [
                {"role": "tool", "tool_call_id": unique, "content": result.text}
                for call, unique in zip(reply.calls, ids, strict=True)
                if (result := reply.results.get(call.call_id))
            ]
        self.messages += self._waiting
        self._waiting = []

    def _say(self, text: str) -> None:
        self._waiting.append({"role": "user", "content": text})
        if len(self._reply.results) == len(self._reply.calls):
            self.close()

    def _continue(self, item: ReasoningItem | AssistantItem | CallItem) -> None:
        reply = self._reply
        if reply.results or self._waiting or (reply.calls and not isinstance(item, CallItem)):
            self.close()
        if isinstance(item, CallItem):
            self._reply.calls.append(item)
        elif isinstance(item, AssistantItem):
            self._reply.text.append(item.text)
        elif item.family == self.family:
            self._reply.reasoning |= item.fields

    def _unique(self, call_id: str) -> str:
        """Return *call_id*, changed if an earlier reply used it: local servers count from 0."""
        unique, number = call_id, 1
        while unique in self._used:
            number += 1
            unique = f"{call_id}-{number}"
        self._used.add(unique)
        return unique


def _assistant(reply: _Reply, ids: list[str]) -> Message:
    message: Message = {"role": "assistant", "content": "".join(reply.text) or None}
    if not reply.calls:
        # Servers want captured thinking back with its own calls, and only then.
        return message
    extra = reply.reasoning.get("call_fields", [])
    message |= {name: value for name, value in reply.reasoning.items() if name != "call_fields"}
    message["tool_calls"] = [
        _call(call, unique, extra[index] if index < len(extra) else None)
        for index, (call, unique) in enumerate(zip(reply.calls, ids, strict=True))
    ]
    return message


def _call(call: CallItem, unique: str, extra: object) -> dict[str, Any]:
    function = {"name": wire_name(call.tool), "arguments": _arguments(call.arguments)}
    wire: dict[str, Any] = {"id": unique, "type": "function", "function": function}
    return wire if extra is None else wire | {"extra_content": extra}


def _arguments(text: str) -> str:
    """Return argument text that every server can parse."""
    if not text.strip():
        return "{}"
    try:
        if isinstance(pydantic_core.from_json(text, allow_inf_nan=False), dict):
            return text
    except ValueError:
        pass
    return json.dumps({UNREADABLE: text}, ensure_ascii=False)
