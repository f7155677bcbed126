"""The portable history becomes requests that every server accepts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.provider.adapter import Prompt
from activities.provider.wire import NOTICE, as_body, messages, pairing_faults
from tests.provider.asking import ask_server
from tests.provider.loopback import DONE, Answer, calls, event, loopback, text
from workflows.contracts.item import (
    AssistantItem,
    CallItem,
    Item,
    NoticeItem,
    ReasoningItem,
    ResultItem,
    UserItem,
)
from workflows.contracts.tool import CallStatus, EffectClass, ToolDeclaration

FAMILY = "chat-completions:127.0.0.1"
SHELL = ToolDeclaration(
    name="shell.run",
    description="Run.",
    parameters={"type": "object", "properties": {}},
    effect=EffectClass.ADOPTABLE,
)
SHELL_ON_WIRE = "ac2hlbGwAcnVu"


def _user(words: str) -> UserItem:
    return UserItem(message=words, text=words)


def _call(call_id: str, arguments: str = "{}", ordinal: int = 0) -> CallItem:
    return CallItem(ordinal=ordinal, call_id=call_id, tool="shell.run", arguments=arguments)


def _result(call_id: str, words: str = "ok", ordinal: int = 0) -> ResultItem:
    return ResultItem(
        ordinal=ordinal, call_id=call_id, tool="shell.run", status=CallStatus.OK, text=words
    )


def _sent(call_id: str, arguments: str) -> dict[str, Any]:
    function = {"name": SHELL_ON_WIRE, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _wire(*items: Item) -> list[dict[str, Any]]:
    return messages("", items, FAMILY)


def test_a_whole_request_is_pinned() -> None:
    """The body of a turn in its second round."""
    prompt = Prompt(
        model="m-1",
        system="Be brief.",
        items=(
            _user("läuft es?"),
            ReasoningItem(text="hm", family=FAMILY, fields={"reasoning_content": "hm"}),
            AssistantItem(text="Looking."),
            _call("c1", '{"command":"true"}'),
            _call("c2", "", 1),
            _result("c1", "one"),
            _result("c2", "two", 1),
            NoticeItem(text="Job j ended."),
        ),
        tools=(SHELL,),
        effort="high",
    )
    body = as_body(prompt, FAMILY)
    assert "läuft".encode() in body
    function = {"name": SHELL_ON_WIRE, "description": "Run.", "parameters": SHELL.parameters}
    assert json.loads(body) == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "läuft es?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "reasoning_content": "hm",
                "tool_calls": [
                    _sent("c1", '{"command":"true"}'),
                    _sent("c2", "{}"),
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "user", "content": f"{NOTICE}Job j ended."},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "reasoning_effort": "high",
    }


def test_a_request_without_tools_or_effort_does_not_name_them() -> None:
    """Domain reference 22: an empty tool choice and an unasked effort are refused."""
    body = json.loads(as_body(Prompt(model="m", system="", items=(_user("x"),)), FAMILY))
    assert set(body) == {"model", "messages", "stream", "stream_options"}


def test_steering_between_calls_and_results_waits() -> None:
    """A result that does not follow its call at once makes a request unusable."""
    wire = _wire(_call("a"), _call("b", ordinal=1), _user("stop"), _result("b"), _result("a"))
    assert [message["role"] for message in wire] == ["assistant", "tool", "tool", "user"]
    assert pairing_faults(wire) == []


def test_ids_that_a_server_repeats_become_unique() -> None:
    """Local servers count from 0 in every reply."""
    wire = _wire(_call("0"), _result("0", "x"), _call("0"), _result("0", "y"), _user("z"))
    assert pairing_faults(wire) == []
    assert [m["tool_call_id"] for m in wire if m["role"] == "tool"] == ["0", "0-2"]
    assert [m["content"] for m in wire if m["role"] == "tool"] == ["x", "y"]


def test_a_result_without_its_call_is_not_sent() -> None:
    """Field case A-14: the opposite fault is refused as well."""
    assert [m["role"] for m in _wire(_result("gone"), _user("x"))] == ["user"]


def test_foreign_reasoning_is_not_sent() -> None:
    """Domain reference 22: one family must not see another's."""
    item = ReasoningItem(text="hm", family="other", fields={"reasoning_content": "hm"})
    (message, _) = _wire(item, _call("a"), _result("a"))
    assert set(message) == {"role", "content", "tool_calls"}


def test_reasoning_without_calls_is_not_sent() -> None:
    """It belongs to the calls of its own round, and a bare one is no message."""
    own = ReasoningItem(text="hm", family=FAMILY, fields={"reasoning_content": "hm"})
    assert _wire(own, AssistantItem(text="hi")) == [{"role": "assistant", "content": "hi"}]
    assert _wire(own) == []


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "nonsense", '{"a":NaN}'])
def test_arguments_that_are_no_object_go_back_readable(arguments: str) -> None:
    """Field case A-04: servers refuse a history whose arguments do not parse."""
    (message, _) = _wire(_call("a", arguments), _result("a"))
    sent = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unreadable-arguments": arguments}


def test_half_a_character_does_not_stop_a_request() -> None:
    """A file name may hold one; it has no UTF-8 bytes."""
    body = as_body(Prompt(model="m", system="", items=(_user("a\ud800b"),)), FAMILY)
    assert json.loads(body)["messages"][0]["content"] == "a?b"


@given(st.data())
def test_every_history_of_whole_rounds_is_paired(data: st.DataObject) -> None:
    """Whatever is said between, in whatever order the results came."""
    items: list[Item] = []
    for _ in range(data.draw(st.integers(0, 4))):
        ids = [f"{number}" for number in range(data.draw(st.integers(0, 3)))]
        items += [_user("u")] * data.draw(st.integers(0, 2))
        items += [AssistantItem(text="t")] * data.draw(st.integers(0, 1))
        items += [_call(one) for one in ids]
        rest: list[Item] = [_result(one) for one in data.draw(st.permutations(ids))]
        rest.insert(data.draw(st.integers(0, len(rest))), NoticeItem(text="n"))
        items += rest
    wire = _wire(*items)
    assert pairing_faults(wire) == []
    sent = sum(len(message.get("tool_calls", ())) for message in wire)
    assert sent == sum(isinstance(item, CallItem) for item in items)


def test_the_lint_finds_every_fault() -> None:
    """It would be worthless if it could not fail."""
    call = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    result = {"role": "tool", "tool_call_id": "a"}
    other = {"role": "tool", "tool_call_id": "b"}
    user = {"role": "user"}
    assert pairing_faults([call, result, other]) == []
    assert pairing_faults([call, result, user]) == ["the call b has no result"]
    assert pairing_faults([call, result]) == ["the call b has no result"]
    assert pairing_faults([call, other, result]) != []
    assert pairing_faults([result]) == ["the result a does not follow its call in order"]
    assert pairing_faults([call, result, other, call, result, other]) == [
        "the id a is used twice",
        "the id b is used twice",
    ]


async def test_reasoning_and_signatures_return_with_their_calls() -> None:
    """What one reply carried is in the next request, field by field."""
    fragment = {"index": 0, "id": "a", "function": {"name": SHELL_ON_WIRE, "arguments": "{}"}}
    signed = fragment | {"extra_content": {"google": {"thought_signature": "s"}}}
    details = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    first = Answer(
        [
            event({"choices": [{"delta": {"reasoning": "hm", "reasoning_details": details}}]}),
            calls(signed, finish="tool_calls"),
            DONE,
        ]
    )
    async with loopback(first, Answer([text("done", "stop"), DONE])) as server:
        prompt = Prompt(model="m", system="", items=(_user("u"),), tools=(SHELL,))
        reply = (await ask_server(server, prompt)).answer
        (call,) = reply.calls
        assert call.tool == "shell.run"
        items: tuple[Item, ...] = (
            *prompt.items,
            ReasoningItem(
                text=reply.reasoning, family=FAMILY, fields=dict(reply.reasoning_fields)
            ),
            CallItem(ordinal=0, call_id=call.call_id, tool=call.tool, arguments=call.arguments),
            _result("a"),
        )
        await ask_server(server, Prompt(model="m", system="", items=items, tools=(SHELL,)))
    sent = server.requests[1]["messages"][1]
    assert sent["reasoning_details"] == details
    assert sent["tool_calls"][0]["extra_content"] == signed["extra_content"]
