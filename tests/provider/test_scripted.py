"""The scripted provider plays its script to real clients over HTTP."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from activities.errors import (
    PortTakenError,
    ProviderOverloaded,
    ProviderRefused,
    RateLimited,
    StreamInterrupted,
    TransportFailure,
)
from activities.provider.adapter import Delta, DeltaKind, Prompt
from activities.provider.chat_completions import ChatCompletions
from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import ScriptedProvider, serve
from tests.provider.asking import Asked, ask
from workflows.contracts.item import CallItem, Item, ResultItem, UserItem
from workflows.contracts.tool import CallStatus


def _user(text: str) -> UserItem:
    return UserItem(message=text, text=text)


def _round(ordinal: int, result: str) -> tuple[Item, Item]:
    call_id = f"c{ordinal}"
    call = CallItem(ordinal=ordinal, call_id=call_id, tool="shell.run", arguments="{}")
    status = CallStatus.OK
    return call, ResultItem(
        ordinal=ordinal, call_id=call_id, tool="shell.run", status=status, text=result
    )


def _adapter(provider: ScriptedProvider, client: httpx.AsyncClient) -> ChatCompletions:
    return ChatCompletions("scripted", f"{provider.endpoint}/chat/completions", None, client)


async def _send(provider: ScriptedProvider, *items: Item, model: str = "m") -> Asked:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await ask(_adapter(provider, client), Prompt(model, "be good", items))


async def _texts(script: str, *histories: tuple[Item, ...]) -> list[str]:
    """Return the answer to each history in turn."""
    async with serve(parse_script(script)) as provider:
        return [(await _send(provider, *items)).answer.text for items in histories]


HELLO = (_user("hello"),)


async def test_replies_are_used_in_order_and_then_the_default() -> None:
    """A repeated one is used as often as it says, and the default for ever."""
    script = '(:version 1 :replies ((:text "a") (:text "b" :repeat 2)) :default (:text "z"))'
    assert await _texts(script, *[HELLO] * 5) == ["a", "b", "b", "z", "z"]


async def test_without_a_fitting_reply_the_request_is_refused() -> None:
    """A script that is too short fails at once and is not retried."""
    async with serve(parse_script("(:version 1)")) as provider:
        error = (await _send(provider, *HELLO)).error
    assert isinstance(error, ProviderRefused)
    assert "the script has no reply for request 1" in str(error)


@pytest.mark.parametrize(
    ("condition", "items", "holds"),
    [
        (':user "ell"', HELLO, True),
        (':user "ell"', (*HELLO, _user("bye")), False),
        (':result "two"', (*HELLO, *_round(0, "one"), *_round(1, "two")), True),
        (':result "one"', (*HELLO, *_round(0, "one"), *_round(1, "two")), False),
        (':result ""', HELLO, True),
        (':system "good"', HELLO, True),
        (':model "m"', HELLO, True),
        (':model "x"', HELLO, False),
        (":results 2", (*HELLO, *_round(0, "one"), *_round(1, "two")), True),
        (":results (1 nil)", HELLO, False),
        (":results-in-turn 1", (*HELLO, *_round(0, "1"), *HELLO, *_round(1, "2")), True),
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
    assert await _texts(script, HELLO, (_user("bye"),), HELLO, HELLO) == [
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
        asked = await _send(provider, *HELLO)
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
    items = (*HELLO, *_round(0, "revision 11"), *_round(1, "revision 22"), *_round(2, "ok"))
    async with serve(parse_script(script)) as provider:
        reply = (await _send(provider, *items)).answer
        error = (await _send(provider, *HELLO)).error
    assert json.loads(reply.calls[0].arguments) == {"revision": "22", "word": "hello"}
    assert isinstance(error, ProviderRefused)
    assert "matches no result" in str(error)


async def test_usage_may_be_left_out() -> None:
    """Some servers say nothing about it."""
    async with serve(parse_script('(:version 1 :default (:text "a" :usage nil))')) as provider:
        usage = (await _send(provider, *HELLO)).answer.usage
    assert set(usage.model_dump().values()) == {None}


LONG = ':text "abcdefgh" :piece 2'


@pytest.mark.parametrize(
    ("fault", "kind", "shown"),
    [
        ("(:kind cut :after 2)", StreamInterrupted, "abcd"),
        ("(:kind cut :after 0)", StreamInterrupted, ""),
        ("(:kind cut :after 99)", StreamInterrupted, "abcdefgh"),
        ("(:kind reset :after 1)", StreamInterrupted, "ab"),
        ("(:kind hang-up)", TransportFailure, ""),
        ('(:kind error :after 1 :code "slow_down" :message "m")', ProviderOverloaded, "ab"),
        ('(:kind status :status 500 :message "m")', ProviderOverloaded, ""),
        ('(:kind status :status 429 :headers ("Retry-After" "3"))', RateLimited, ""),
        ('(:kind status :status 400 :body "<p>no</p>")', ProviderRefused, ""),
    ],
)
async def test_faults_happen_where_they_are_placed(
    fault: str, kind: type[Exception], shown: str
) -> None:
    """And the next request finds the server well."""
    script = f'(:version 1 :replies (({LONG} :fault {fault})) :default (:text "fine"))'
    async with serve(parse_script(script)) as provider:
        asked = await _send(provider, *HELLO)
        assert (await _send(provider, *HELLO)).answer.text == "fine"
    assert isinstance(asked.error, kind)
    assert asked.shown == shown
    if isinstance(asked.error, RateLimited):
        assert asked.error.retry_after == 3.0
    assert len(provider.requests) == 2


async def test_a_stall_ends_after_its_time_or_with_its_client() -> None:
    """Comments may prove that the connection lives."""
    script = f"""(:version 1 :replies
      (({LONG} :fault (:kind stall :after 1 :seconds 0.2 :comments 0.05))
       ({LONG} :fault (:kind stall :after 1))))"""
    begun = asyncio.Event()
    async with (
        asyncio.timeout(30),
        serve(parse_script(script)) as provider,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        assert (await _send(provider, *HELLO)).answer.text == "abcdefgh"
        waiting = asyncio.create_task(
            _adapter(provider, client).complete(Prompt("m", "", HELLO), lambda _: begun.set())
        )
        await begun.wait()
        waiting.cancel()
        while provider.requests[1].outcome == "answering":
            await asyncio.sleep(0.01)
    assert [request.outcome for request in provider.requests] == ["complete", "hung-up"]


async def test_pieces_come_one_by_one_with_a_delay() -> None:
    """A screen shows them as they come, not all at the end."""
    script = '(:version 1 :default (:text "0123456789abcdefGHIJ" :delay 0.3))'
    seen: list[str] = []
    async with serve(parse_script(script)) as provider, httpx.AsyncClient() as client:

        def show(delta: Delta) -> None:
            seen.append(delta.text)
            outcomes.append(provider.requests[0].outcome)

        outcomes: list[str] = []
        await _adapter(provider, client).complete(Prompt("m", "", HELLO), show)
    assert seen == ["0123456789abcdef", "GHIJ"]
    assert outcomes[0] == "answering"


async def test_many_clients_are_answered_at_once() -> None:
    """Twenty stalled answers do not hold the next one up."""
    script = """(:version 1 :replies ((:repeat 20 :text "x" :fault (:kind stall)))
                 :default (:text "a"))"""
    async with asyncio.timeout(60), serve(parse_script(script)) as provider:
        asking = [asyncio.create_task(_send(provider, *HELLO)) for _ in range(20)]
        while len(provider.requests) < 20:
            await asyncio.sleep(0.01)
        assert (await _send(provider, *HELLO)).answer.text == "a"
        assert [one.outcome for one in provider.requests] == ["answering"] * 20 + ["complete"]
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)


async def test_a_connection_serves_many_requests_with_large_bodies() -> None:
    """Keep-alive works both ways, and a megabyte is ordinary."""
    script = parse_script(f'(:version 1 :default (:text "{"é" * 500_000}"))')
    async with serve(script) as provider, httpx.AsyncClient() as client:
        adapter = _adapter(provider, client)
        for _ in range(3):
            asked = await ask(adapter, Prompt("m", "", (_user("ü" * 500_000),)))
            assert asked.answer.text == "é" * 500_000
        pool: Any = client._transport  # noqa: SLF001 -- the pool is the fact
        assert len(pool._pool.connections) == 1  # noqa: SLF001 -- the pool is the fact


async def test_a_client_that_does_not_stream_gets_one_document() -> None:
    """The same script serves it."""
    script = """(:version 1 :replies
      ((:text "hi" :reasoning "r" :calls ((:tool "a.b")))
       (:text "x" :fault (:kind error :message "m"))
       (:text "x" :fault (:kind cut))) :default (:text "slow" :delay 0.01))"""
    body = {"model": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    async with serve(parse_script(script)) as provider, httpx.AsyncClient() as client:
        url = f"{provider.endpoint}/chat/completions"
        first = (await client.post(url, json=body)).json()
        assert first["choices"][0]["message"]["content"] == "hi"
        assert first["choices"][0]["finish_reason"] == "tool_calls"
        assert (await client.post(url, json=body)).json()["error"]["message"] == "m"
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(url, json=body)
        last = (await client.post(url, json=body)).json()
        assert last["choices"][0]["message"]["content"] == "slow"


async def test_other_paths_and_bad_bodies_are_refused() -> None:
    """The connection stays usable."""
    async with (
        serve(parse_script('(:version 1 :model "x")')) as provider,
        httpx.AsyncClient(base_url=provider.endpoint) as client,
    ):
        models = (await client.get("/models")).json()
        assert [model["id"] for model in models["data"]] == ["x"]
        statuses = [
            (await client.get("/nothing")).status_code,
            (await client.get("/chat/completions")).status_code,
            (await client.post("/chat/completions", content=b"{")).status_code,
            (await client.post("/chat/completions", json=[1])).status_code,
            (await client.post("/chat/completions", json={"messages": [1]})).status_code,
        ]
    assert statuses == [404, 405, 400, 400, 400]


async def test_bytes_that_are_no_http_end_the_connection() -> None:
    """And only that one."""
    async with serve(parse_script('(:version 1 :default (:text "a"))')) as provider:
        port = httpx.URL(provider.endpoint).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01 nonsense\r\n\r\n")
        async with asyncio.timeout(30):
            await reader.read()
        writer.close()
        assert (await _send(provider, *HELLO)).answer.text == "a"


async def test_the_log_holds_every_request_and_is_private(tmp_path: Path) -> None:
    """It holds whole conversations."""
    log = tmp_path / "requests.jsonl"
    script = parse_script('(:version 1 :replies ((:text "a")))')
    async with serve(script, log=log, remember=False) as provider:
        await _send(provider, *HELLO)
        await _send(provider, *HELLO)
        assert provider.requests == []
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("reply") or line.get("outcome") for line in lines] == [
        "reply 1", "complete", "refused", "refused",
    ]  # fmt: skip
    assert lines[0]["body"]["messages"][1]["content"] == "hello"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_taken_port_is_named() -> None:
    """One line, with the remedy."""
    async with serve(parse_script("(:version 1)")) as provider:
        port = httpx.URL(provider.endpoint).port
        assert port is not None
        with pytest.raises(PortTakenError, match=f"Port {port} of 127.0.0.1 is in use"):
            async with serve(parse_script("(:version 1)"), port):
                pass


def _documented_script() -> str:
    page = Path(__file__).parents[2] / "docs" / "scripted-provider.md"
    return page.read_text().split("```lisp\n")[1].split("```")[0]


async def test_the_documented_example_plays() -> None:
    """From the broken first attempt to the default answer."""
    async with serve(parse_script(_documented_script())) as provider:
        broken = await _send(provider, *HELLO)
        looking = (await _send(provider, *HELLO)).answer
        rounds: tuple[Item, ...] = (*_round(0, "revision 4af2"), *_round(1, "1 failed"))
        editing = (await _send(provider, *HELLO, *rounds)).answer
        rounds = (*rounds, *_round(2, "edited"))
        done = (await _send(provider, *HELLO, *rounds)).answer
        over = (await _send(provider, *HELLO, *rounds, *_round(3, "?"))).answer
    assert isinstance(broken.error, StreamInterrupted)
    assert broken.shown == "Let me look at "
    assert [call.tool for call in looking.calls] == ["resource.read", "shell.run"]
    assert json.loads(editing.calls[0].arguments)["revision"] == "4af2"
    assert (done.text, over.text) == ("The sum is right now.", "I have nothing more to say.")
