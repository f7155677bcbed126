"""Pieces become one reply: calls, reasoning and refusals, over real HTTP on loopback."""

from typing import Any

import pytest

from activities.provider.adapter import DeltaKind
from activities.provider.errors import StreamInterrupted
from tests.provider.asking import ask_bytes
from tests.provider.loopback import DONE, calls, event, text

A = {"id": "x1", "function": {"name": "f", "arguments": '{"a":1}'}}
B = {"id": "x2", "function": {"name": "f", "arguments": '{"b":'}}
REST = {"function": {"arguments": "2}"}}


@pytest.mark.parametrize(
    "stream",
    [
        [calls(A, B), calls(REST)],
        [calls(A | {"index": 0}), calls(B | {"index": 0}), calls(REST | {"index": 0})],
        [calls(A | {"index": 0}), calls(B | {"index": 1}), calls(REST | {"index": 1})],
        [calls(A | {"index": 0}), calls(B), calls(REST)],
        [calls(A), calls(B | {"index": 5}), calls(REST | {"index": 5})],
        [calls(A), calls(B), calls(REST | {"id": "x2"})],
        [calls(A | {"index": 0}, B | {"index": 0}), calls(REST | {"id": "x2", "index": 0})],
        [calls(A, B, REST)],
    ],
)
async def test_parallel_calls_stay_apart(stream: list[bytes]) -> None:
    """A-04: a new id opens a call, and no index and no id continues the last one."""
    reply = (await ask_bytes(*stream, calls(finish="tool_calls"), DONE)).answer
    assert [(call.call_id, call.arguments) for call in reply.calls] == [
        ("x1", '{"a":1}'),
        ("x2", '{"b":2}'),
    ]


async def test_interleaved_fragments_go_to_their_calls() -> None:
    """A-04: the index decides while the ids agree."""
    stream = [
        calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}),
        calls({"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"q"'}}),
        calls({"index": 0, "function": {"arguments": '{"p"'}}),
        calls({"index": 1, "function": {"arguments": ":1}"}}),
        calls({"index": 0, "function": {"arguments": ":2}"}}, finish="tool_calls"),
    ]
    reply = (await ask_bytes(*stream, DONE)).answer
    assert [(call.tool, call.arguments) for call in reply.calls] == [
        ("f", '{"p":2}'),
        ("g", '{"q":1}'),
    ]


@pytest.mark.parametrize("place", [{}, {"index": 0}])
async def test_a_repeated_call_id_does_not_glue_calls(place: dict[str, int]) -> None:
    """Some local servers give every call the same id; each still is a call of its own."""
    one = place | {"id": "call_0", "function": {"name": "f", "arguments": '{"a":1}'}}
    two = place | {"id": "call_0", "function": {"name": "f", "arguments": '{"a":2}'}}
    reply = (await ask_bytes(calls(one), calls(two, finish="tool_calls"), DONE)).answer
    assert [call.arguments for call in reply.calls] == ['{"a":1}', '{"a":2}']


async def test_a_repeated_name_is_one_name() -> None:
    """Some servers repeat id and name with every fragment, others cut the name."""
    stream = [
        calls({"index": 0, "id": "a", "function": {"name": "find", "arguments": '{"a"'}}),
        calls({"index": 0, "id": "a", "function": {"name": "find", "arguments": ":1}"}}),
        calls({"index": 1, "id": "b", "function": {"name": "fi"}}),
        calls({"index": 1, "function": {"name": "nd", "arguments": "{}"}}, finish="tool_calls"),
    ]
    reply = (await ask_bytes(*stream, DONE)).answer
    assert [(call.tool, call.arguments) for call in reply.calls] == [
        ("find", '{"a":1}'),
        ("find", "{}"),
    ]


async def test_arguments_may_come_as_an_object() -> None:
    """Some local servers do not write them as text."""
    call = {"id": "a", "function": {"name": "f", "arguments": {"a": 1}}}
    assert (await ask_bytes(calls(call, finish="stop"), DONE)).answer.calls[
        0
    ].arguments == '{"a":1}'


@pytest.mark.parametrize(
    "call", [{"function": {"name": "f", "arguments": "{}"}}, {"id": "a", "function": {}}]
)
async def test_a_call_without_id_or_name_interrupts(call: dict[str, Any]) -> None:
    """Domain reference 15.4: it is retryable, and never run."""
    asked = await ask_bytes(calls(call, finish="tool_calls"), DONE)
    assert isinstance(asked.error, StreamInterrupted)
    assert asked.error.output_started


async def test_the_models_refusal_is_its_answer() -> None:
    """It comes in a field of its own."""
    chunk = {"choices": [{"delta": {"refusal": "I cannot."}, "finish_reason": "stop"}]}
    asked = await ask_bytes(event(chunk), DONE)
    assert asked.answer.text == asked.shown == "I cannot."


async def test_reasoning_comes_apart_from_text() -> None:
    """The fields that appear in the wild, and typed parts of a content list."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "c"}]}
    said = {"type": "text", "text": "d"}
    deltas: list[dict[str, Any]] = [
        {"reasoning_content": "a", "content": None},
        {"reasoning": "b", "reasoning_content": "b"},
        {"content": [part, said]},
    ]
    stream = [event({"choices": [{"delta": delta}]}) for delta in deltas]
    asked = await ask_bytes(*stream, text("", "stop"), DONE)
    assert (asked.answer.reasoning, asked.answer.text) == ("abc", "d")
    assert [delta.kind for delta in asked.deltas] == [DeltaKind.REASONING] * 3 + [DeltaKind.TEXT]


async def test_reasoning_blocks_are_merged_for_the_way_back() -> None:
    """Pieces of one block join; a signature comes last and encrypted data whole."""
    pieces = [
        [{"type": "reasoning.text", "text": "Th", "index": 0, "format": "f", "signature": None}],
        [{"type": "reasoning.text", "text": "is", "index": 0, "format": "f"}],
        [{"type": "reasoning.text", "signature": "sig", "index": 0}],
        [{"type": "reasoning.encrypted", "data": "zz", "id": "e", "index": 1}],
    ]
    stream = [
        event({"choices": [{"delta": {"reasoning_details": piece, "reasoning": "x"}}]})
        for piece in pieces
    ]
    reply = (await ask_bytes(*stream, text("", "stop"), DONE)).answer
    assert reply.reasoning_fields == {
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "text": "This",
                "index": 0,
                "format": "f",
                "signature": "sig",
            },
            {"type": "reasoning.encrypted", "data": "zz", "id": "e", "index": 1},
        ]
    }
