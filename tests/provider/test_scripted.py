"""The scripted provider says what its script says, to real clients over HTTP."""

import json
from pathlib import Path

import pytest

from activities.provider.adapter import DeltaKind
from activities.provider.errors import ProviderRefused, StreamInterrupted
from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import serve
from tests.provider.playing import HELLO, send, tool_round, user
from workflows.contracts.item import Item


async def _texts(script: str, *histories: tuple[Item, ...]) -> list[str]:
    """Return the answer to each history in turn."""
    async with serve(parse_script(script)) as provider:
        return [(await send(provider, *items)).answer.text for items in histories]


async def test_replies_are_used_in_order_and_then_the_default() -> None:
    """A repeated one is used as often as it says, and the default for ever."""
    script = '(:version 1 :replies ((:text "a") (:text "b" :repeat 2)) :default (:text "z"))'
    assert await _texts(script, *[HELLO] * 5) == ["a", "b", "b", "z", "z"]


async def test_without_a_fitting_reply_the_request_is_refused() -> None:
    """A script that is too short fails at once and is not retried."""
    async with serve(parse_script("(:version 1)")) as provider:
        error = (await send(provider, *HELLO)).error
    assert isinstance(error, ProviderRefused)
    assert "the script has no reply for request 1" in str(error)


@pytest.mark.parametrize(
    ("condition", "items", "holds"),
    [
        (':user "ell"', HELLO, True),
        (':user "ell"', (*HELLO, user("bye")), False),
        (':result "two"', (*HELLO, *tool_round(0, "one"), *tool_round(1, "two")), True),
        (':result "one"', (*HELLO, *tool_round(0, "one"), *tool_round(1, "two")), False),
        (':result ""', HELLO, True),
        (':system "good"', HELLO, True),
        (':model "m"', HELLO, True),
        (':model "x"', HELLO, False),
        (":results 2", (*HELLO, *tool_round(0, "one"), *tool_round(1, "two")), True),
        (":results (1 nil)", HELLO, False),
        (":results-in-turn 1", (*HELLO, *tool_round(0, "1"), *HELLO, *tool_round(1, "2")), True),
        (":results-in-turn (0 1)", HELLO, True),
        (":request 1", HELLO, True),
        (":request 2", HELLO, False),
        (':results 0 :user "nothing"', HELLO, False),
    ],
)
async def test_conditions_look_at_what_was_sent(
    condition: str, items: tuple[Item, ...], holds: bool
) -> None:
    """All of a reply's conditions have to hold."""
    script = f'(:version 1 :replies ((:when ({condition}) :text "yes")) :default (:text "no"))'
    assert await _texts(script, items) == ["yes" if holds else "no"]


async def test_attempts_of_the_very_same_request_are_counted() -> None:
    """Another request in between does not matter."""
    script = """(:version 1 :replies ((:when (:attempt 2) :text "again" :repeat t))
                 :default (:text "first"))"""
    assert await _texts(script, HELLO, (user("bye"),), HELLO, HELLO) == [
        "first",
        "first",
        "again",
        "first",
    ]


async def test_calls_reasoning_and_usage_arrive() -> None:
    """The adapter gets everything that the script says."""
    script = """(:version 1 :default (:reasoning "hm" :text "on it" :piece 2
      :calls ((:tool "shell.run" :arguments (:command "ls" :n 1 :f 0.5 :t t :x nil :z :null
                                             :a () :o (:object) :l (1 "b") :m (:k (2))))
              (:tool "resource.read" :arguments () :id "same")
              (:name "odd" :arguments "{broken" :id "same"))
      :usage (:input 5 :output 6 :cached 2 :reasoning 1)))"""
    async with serve(parse_script(script)) as provider:
        asked = await send(provider, *HELLO)
    reply = asked.answer
    assert (reply.reasoning, reply.text, reply.finish) == ("hm", "on it", "tool_calls")
    assert [call.tool for call in reply.calls] == ["shell.run", "resource.read", "odd"]
    assert json.loads(reply.calls[0].arguments) == {
        "command": "ls", "n": 1, "f": 0.5, "t": True, "x": False, "z": None,
        "a": [], "o": {}, "l": [1, "b"], "m": {"k": [2]},
    }  # fmt: skip
    assert [call.arguments for call in reply.calls[1:]] == ["{}", "{broken"]
    assert [call.call_id for call in reply.calls[1:]] == ["same", "same"]
    assert reply.usage.model_dump() == {
        "input": 5, "output": 6, "total": 11, "cached": 2, "reasoning": 1
    }  # fmt: skip
    assert [delta.text for delta in asked.deltas if delta.kind is DeltaKind.TEXT] == [
        "on", " i", "t",
    ]  # fmt: skip


async def test_a_match_fills_in_what_a_tool_said() -> None:
    """The newest result that matches counts, by its first group."""
    script = """(:version 1 :default (:calls ((:tool "a.b" :arguments
        (:revision (:match "revision ([0-9a-f]+)") :word (:match "h[a-z]+" :in user))))))"""
    items = (
        *HELLO,
        *tool_round(0, "revision 11"),
        *tool_round(1, "revision 22"),
        *tool_round(2, "ok"),
    )
    async with serve(parse_script(script)) as provider:
        reply = (await send(provider, *items)).answer
        error = (await send(provider, *HELLO)).error
    assert json.loads(reply.calls[0].arguments) == {"revision": "22", "word": "hello"}
    assert isinstance(error, ProviderRefused)
    assert "matches no result" in str(error)


async def test_usage_may_be_left_out() -> None:
    """Some servers say nothing about it."""
    async with serve(parse_script('(:version 1 :default (:text "a" :usage nil))')) as provider:
        usage = (await send(provider, *HELLO)).answer.usage
    assert set(usage.model_dump().values()) == {None}


def _documented_script() -> str:
    page = Path(__file__).parents[2] / "docs" / "scripted-provider.md"
    return page.read_text().split("```lisp\n")[1].split("```")[0]


async def test_the_documented_example_plays() -> None:
    """From the broken first attempt to the default answer."""
    async with serve(parse_script(_documented_script())) as provider:
        broken = await send(provider, *HELLO)
        looking = (await send(provider, *HELLO)).answer
        rounds: tuple[Item, ...] = (*tool_round(0, "revision 4af2"), *tool_round(1, "1 failed"))
        editing = (await send(provider, *HELLO, *rounds)).answer
        rounds = (*rounds, *tool_round(2, "edited"))
        done = (await send(provider, *HELLO, *rounds)).answer
        over = (await send(provider, *HELLO, *rounds, *tool_round(3, "?"))).answer
    assert isinstance(broken.error, StreamInterrupted)
    assert broken.shown == "Let me look at "
    assert [call.tool for call in looking.calls] == ["resource.read", "shell.run"]
    assert json.loads(editing.calls[0].arguments)["revision"] == "4af2"
    assert (done.text, over.text) == ("The sum is right now.", "I have nothing more to say.")
