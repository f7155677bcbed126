"""The scripted provider as a server: faults, delays, many clients, bad requests."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from activities.errors import PortTakenError
from activities.provider.adapter import Delta, Prompt
from activities.provider.errors import (
    ProviderOverloaded,
    ProviderRefused,
    RateLimited,
    StreamInterrupted,
    TransportFailure,
)
from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import serve
from tests.provider.asking import ask
from tests.provider.playing import HELLO, adapter_of, send, user

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
        asked = await send(provider, *HELLO)
        assert (await send(provider, *HELLO)).answer.text == "fine"
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
        assert (await send(provider, *HELLO)).answer.text == "abcdefgh"
        waiting = asyncio.create_task(
            adapter_of(provider, client).complete(Prompt("m", "", HELLO), lambda _: begun.set())
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
        await adapter_of(provider, client).complete(Prompt("m", "", HELLO), show)
    assert seen == ["0123456789abcdef", "GHIJ"]
    assert outcomes[0] == "answering"


async def test_many_clients_are_answered_at_once() -> None:
    """Twenty stalled answers do not hold the next one up."""
    script = """(:version 1 :replies ((:repeat 20 :text "x" :fault (:kind stall)))
                 :default (:text "a"))"""
    async with asyncio.timeout(60), serve(parse_script(script)) as provider:
        asking = [asyncio.create_task(send(provider, *HELLO)) for _ in range(20)]
        while len(provider.requests) < 20:
            await asyncio.sleep(0.01)
        assert (await send(provider, *HELLO)).answer.text == "a"
        assert [one.outcome for one in provider.requests] == ["answering"] * 20 + ["complete"]
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)


async def test_a_connection_serves_many_requests_with_large_bodies() -> None:
    """Keep-alive works both ways, and a megabyte is ordinary."""
    script = parse_script(f'(:version 1 :default (:text "{"é" * 500_000}"))')
    async with serve(script) as provider, httpx.AsyncClient() as client:
        adapter = adapter_of(provider, client)
        for _ in range(3):
            asked = await ask(adapter, Prompt("m", "", (user("ü" * 500_000),)))
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
        assert (await send(provider, *HELLO)).answer.text == "a"


async def test_the_log_holds_every_request_and_is_private(tmp_path: Path) -> None:
    """It holds whole conversations."""
    log = tmp_path / "requests.jsonl"
    script = parse_script('(:version 1 :replies ((:text "a")))')
    async with serve(script, log=log, remember=False) as provider:
        await send(provider, *HELLO)
        await send(provider, *HELLO)
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
