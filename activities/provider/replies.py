"""Put the pieces of one streamed reply together.  Linear in what arrives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from activities.provider.adapter import Delta, DeltaKind, ModelReply, ReplyCall
from activities.provider.reasoning import ReasoningDetails
from workflows.contracts.usage import Usage


@dataclass
class OpenCall:
    """A call whose pieces are still arriving."""

    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: object = None
    """What the provider wants back with the call, such as a thought signature."""

    @property
    def arguments(self) -> str:
        """Return the argument text so far."""
        return mended("".join(self.pieces))


class ReplyAssembly:
    """Everything one reply has said so far.

    Reports each visible piece to *on_delta*; :meth:`add` tells whether a chunk
    brought anything, which is what counts as progress.
    """

    def __init__(
        self, on_delta: Callable[[Delta], None], decode: Callable[[str], str] = str
    ) -> None:
        self.on_delta, self.decode = on_delta, decode
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.calls: list[OpenCall] = []
        self.output_started = False
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = "reasoning"
        self._details = ReasoningDetails()

    def add(self, chunk: dict[str, Any]) -> bool:
        """Take one chunk in; return whether it brought anything."""
        progress = self._count(chunk.get("usage"))
        choice = first_choice(chunk)
        progress |= self._count(choice.get("usage"))
        # A server that does not stream sends the whole message in one piece.
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            progress |= self._take(delta)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            progress |= finish != self.finish
            self.finish = finish
        return progress

    @property
    def is_empty(self) -> bool:
        """Whether there is neither text nor a call."""
        return not (self._text or self._refusal or self.calls)

    def reply(self, identifiers: dict[str, str]) -> ModelReply:
        """Return what has arrived as one reply."""
        return ModelReply(
            # A model that refuses says so in a field of its own; that is its answer.
            text=mended("".join(self._text or self._refusal)),
            reasoning=mended("".join(self._reasoning)),
            reasoning_fields=self._reasoning_fields(),
            calls=tuple(
                ReplyCall(call.call_id, self.decode(call.name), call.arguments)
                for call in self.calls
            ),
            finish=self.finish,
            usage=self.usage or Usage(),
            identifiers=identifiers,
        )

    def _reasoning_fields(self) -> dict[str, object]:
        """Return what the provider wants to see again beside the calls of this reply."""
        fields: dict[str, object] = {}
        if details := self._details.merged():
            fields["reasoning_details"] = details
        elif self._reasoning:
            fields[self._reasoning_field] = mended("".join(self._reasoning))
        if any(call.extra is not None for call in self.calls):
            fields["call_fields"] = [call.extra for call in self.calls]
        return fields

    def _count(self, usage: object) -> bool:
        if not isinstance(usage, dict) or not usage:
            return False
        self.usage = as_usage(usage)
        return True

    def _take(self, delta: dict[str, Any]) -> bool:
        progress = self._details.add(delta.get("reasoning_details"))
        for name in ("reasoning", "reasoning_content"):
            if isinstance(piece := delta.get(name), str) and piece:
                self._reasoning_field = name
                progress |= self._show(DeltaKind.REASONING, piece, self._reasoning)
                break
        for kind, piece in content_pieces(delta.get("content")):
            pieces = self._text if kind is DeltaKind.TEXT else self._reasoning
            progress |= self._show(kind, piece, pieces)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            progress |= self._show(DeltaKind.TEXT, refusal, self._refusal)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, dict):
                progress |= self._call(fragment)
        self.output_started |= progress
        return progress

    def _show(self, kind: DeltaKind, piece: str, pieces: list[str]) -> bool:
        pieces.append(piece)
        self.on_delta(Delta(kind, mended(piece)))
        return True

    def _call(self, fragment: dict[str, Any]) -> bool:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name = _text(function.get("name"))
        arguments = argument_text(function.get("arguments"))
        call = self._find(fragment, name, arguments)
        if fragment.get("extra_content") is not None:
            call.extra = fragment["extra_content"]
        if name and name != call.name:
            call.name += name
            self.on_delta(Delta(DeltaKind.CALL, self.decode(call.name)))
        if arguments:
            self._show(DeltaKind.CALL, arguments, call.pieces)
        return True

    def _find(self, fragment: dict[str, Any], name: str, arguments: str) -> OpenCall:
        """Return the call that *fragment* continues, or a new one (field case A-04)."""
        index, call_id = fragment.get("index"), _text(fragment.get("id"))
        if isinstance(index, int):
            call = self._by_index.get(index)
        else:
            call = self.calls[-1] if self.calls else None
        if call and call_id and call.call_id not in ("", call_id):
            call = self._by_id.get(call_id)
        if call is None or _is_followed(call, name, arguments):
            call = OpenCall(call_id)
            self.calls.append(call)
        call.call_id = call.call_id or call_id
        self._by_id[call.call_id] = call
        if isinstance(index, int):
            self._by_index[index] = call
        return call


def _is_followed(call: OpenCall, name: str, arguments: str) -> bool:
    """Whether a fragment for the place of *call* begins another call.

    Some servers give every call the same id or none: then a name and a fresh
    object after complete arguments tell them apart.
    """
    return bool(name and call.name and arguments.startswith("{") and _is_json(call.arguments))


def first_choice(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return the choice with index 0; chunks without choices carry only usage (A-02)."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
            return choice
    return {}


def content_pieces(content: object) -> Iterator[tuple[DeltaKind, str]]:
    """Yield the pieces of a content that is a string or a list of typed parts."""
    if isinstance(content, str) and content:
        yield DeltaKind.TEXT, content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(text := part.get("text"), str) and text:
            yield DeltaKind.TEXT, text
        elif isinstance(part, dict):
            for _, thought in content_pieces(part.get("thinking")):
                yield DeltaKind.REASONING, thought


def mended(text: str) -> str:
    """Return *text* with characters that came as two halves put together.

    Servers that count in UTF-16 cut an emoji between two deltas; a half that stays
    alone has no bytes and becomes U+FFFD.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def argument_text(arguments: object) -> str:
    """Return argument text as received; some servers send the object itself."""
    if isinstance(arguments, dict):
        return pydantic_core.to_json(arguments).decode()
    return _text(arguments)


def as_usage(usage: dict[str, Any]) -> Usage:
    """Return the counts that the provider gave; what it did not say stays unknown."""
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    return Usage(
        input=_count(usage, "prompt_tokens"),
        output=_count(usage, "completion_tokens"),
        total=_count(usage, "total_tokens"),
        cached=_count(prompt, "cached_tokens"),
        reasoning=_count(completion, "reasoning_tokens"),
    )


def _count(counts: object, key: str) -> int | None:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_json(text: str) -> bool:
    try:
        pydantic_core.from_json(text)
    except ValueError:
        return False
    return True
