"""Streams are read whatever the network and the server do to them (field cases K1, K2)."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from activities.provider.chat_completions import ChatCompletions
from activities.provider.errors import StreamInterrupted, TransportFailure
from tests.provider.asking import KEY, PROMPT, ask, ask_bytes, ask_server
from tests.provider.loopback import DONE, RESET, Answer, event, loopback, text
from workflows.contracts.usage import Usage


async def test_a_character_cut_by_the_network_stays_whole() -> None:
    """A-01: two writes, and one byte per write."""
    stream = text("🌍 é ✅", "stop") + DONE
    cut = stream.index(b"\xf0\x9f") + 2
    assert (await ask_bytes(stream[:cut], 0.05, stream[cut:])).answer.text == "🌍 é ✅"
    single = [stream[index : index + 1] for index in range(len(stream))]
    asked = await ask_bytes(*single)
    assert asked.answer.text == asked.shown == "🌍 é ✅"


async def test_a_declared_charset_is_ignored() -> None:
    """A-01: an event stream is always UTF-8; U+2705 holds a byte that Latin-1 calls a line."""
    headers = {"content-type": "text/event-stream; charset=iso-8859-1"}
    async with loopback(Answer([text("✅", "stop"), DONE], headers=headers)) as server:
        assert (await ask_server(server)).answer.text == "✅"


async def test_a_character_cut_at_the_end_is_a_truncated_stream() -> None:
    """A-01: nothing of the cut event is shown."""
    asked = await ask_bytes(text("one"), text("🌍", "stop")[:50])
    assert isinstance(asked.error, StreamInterrupted)
    assert asked.shown == "one"


async def test_an_emoji_in_two_escaped_halves_is_put_together() -> None:
    """Servers that count in UTF-16 cut between the halves of a pair."""
    first = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83c"}}]}\n\n'
    second = b'data: {"choices":[{"delta":{"content":"\\udf0db"},"finish_reason":"stop"}]}\n\n'
    asked = await ask_bytes(first, second, DONE)
    assert asked.answer.text == "a🌍b"
    asked.shown.encode()


@pytest.mark.parametrize("choices", [[], None])
async def test_a_chunk_without_choices_is_ordinary(choices: list[Any] | None) -> None:
    """A-02: the usage is recorded once, and the turn is complete."""
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    counted = event({"choices": choices, "usage": usage})
    preamble = event({"choices": choices, "prompt_filter_results": []})
    for stream in (
        [preamble, text("hi", "stop"), counted, DONE],
        [counted, text("hi", "stop"), DONE],
        [text("hi", "stop"), counted],
    ):
        reply = (await ask_bytes(*stream)).answer
        assert reply.text == "hi"
        assert reply.usage == Usage(input=9, output=1, total=10)


async def test_absent_usage_is_unknown() -> None:
    """A-02: unknown is not zero."""
    reply = (await ask_bytes(text("hi", "stop"), DONE)).answer
    assert reply.usage == Usage(input=None, output=None, total=None)


async def test_usage_inside_the_choice_is_found() -> None:
    """One provider puts it beside the finish reason."""
    chunk = {"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 3}}]}
    assert (await ask_bytes(text("hi"), event(chunk), DONE)).answer.usage.input == 3


async def test_keepalives_are_no_events() -> None:
    """A-03: comments, blank data, pings, ids and retry times change nothing."""
    noise = (
        b": waiting\n\n:\n\ndata:\n\ndata: : waiting\n\n"
        b'event: ping\ndata: {"type":"ping"}\n\nid: 7\n\nretry: 100\n\n'
    )
    assert (await ask_bytes(noise, text("hi", "stop"), noise, DONE)).answer.text == "hi"


async def test_one_payload_that_is_no_json_is_passed_over() -> None:
    """A-03: fatal only when it repeats, or when nothing else comes."""
    junk = b"data: upstream says hi\n\n"
    assert (await ask_bytes(junk, text("hi", "stop"), DONE)).answer.text == "hi"
    assert isinstance((await ask_bytes(junk, junk, text("hi", "stop"))).error, StreamInterrupted)
    assert isinstance((await ask_bytes(junk)).error, StreamInterrupted)


async def test_comments_keep_a_slow_reply_alive() -> None:
    """A-07: a comment proves that the transport lives."""
    comments = [step for _ in range(20) for step in (b": ka\n\n", 0.1)]
    asked = await ask_bytes(text("a"), *comments, text("b", "stop"), DONE, idle=1.0)
    assert asked.answer.text == "ab"


async def test_silence_is_a_failed_attempt() -> None:
    """A-07: not one byte within the limit."""
    error = (await ask_bytes(text("a"), 30.0, idle=0.3)).error
    assert isinstance(error, StreamInterrupted)
    assert str(error) == "local: no byte for 0.3 s"
    assert error.output_started


@pytest.mark.parametrize(
    "keepalive", [b": ka\n\n", event({"choices": [{"delta": {"content": ""}}]})]
)
async def test_comments_without_end_are_a_failed_attempt(keepalive: bytes) -> None:
    """A-07: the longer limit counts progress only."""
    steps = [step for _ in range(600) for step in (keepalive, 0.05)]
    error = (await ask_bytes(text("a"), *steps, stall=0.6)).error
    assert isinstance(error, StreamInterrupted)
    assert str(error) == "local: no progress for 0.6 s"


async def test_a_finished_reply_does_not_wait_for_the_connection() -> None:
    """Whatever the connection does after the end, the answer is complete."""
    for end in ([DONE, 30.0], [RESET], [DONE, RESET]):
        assert (await ask_bytes(text("hi", "stop"), *end)).answer.text == "hi"


async def test_a_reset_after_output_is_one_failed_attempt() -> None:
    """A-10: the HTTP library must not ask again by itself."""
    async with loopback(Answer([text("part one"), RESET])) as server:
        asked = await ask_server(server)
    assert len(server.requests) == 1
    assert isinstance(asked.error, StreamInterrupted)
    assert asked.error.output_started
    assert asked.shown == "part one"


async def test_a_connection_that_breaks_before_the_answer_is_a_transport_failure() -> None:
    """Nothing was produced, so the workflow may ask six times."""
    async with httpx.AsyncClient(trust_env=False) as client:
        asked = await ask(ChatCompletions("local", "http://127.0.0.1:1/v1", KEY, client))
    assert isinstance(asked.error, TransportFailure)
    assert not asked.error.output_started
    assert "127.0.0.1" in str(asked.error)


async def test_a_stream_without_an_end_is_interrupted() -> None:
    """Domain reference 22: early closes and missing terminal events are retried."""
    for steps in ([], [text("a")], [DONE], [text("a", "stop")[:-10]]):
        assert isinstance((await ask_bytes(*steps)).error, StreamInterrupted)


async def test_a_reply_with_only_the_end_mark_is_accepted() -> None:
    """Some servers never send a finish reason; the end mark is a terminal event too."""
    reply = (await ask_bytes(text("hi"), DONE)).answer
    assert (reply.text, reply.finish) == ("hi", None)


async def test_lines_and_events_are_bounded() -> None:
    """Domain reference 7.4: 1 MiB per line, 4 MiB per event."""
    long_line = b"data: " + b"x" * (1024 * 1024 + 1)
    many_lines = (b"data: " + b"x" * 1_000_000 + b"\n") * 5
    for stream in (long_line, long_line + b"\n\n", many_lines):
        error = (await ask_bytes(stream)).error
        assert isinstance(error, StreamInterrupted)
        assert "more than" in str(error)


async def test_a_server_that_does_not_stream_is_understood() -> None:
    """The whole reply comes as one JSON document."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "hi", "tool_calls": [call]}
    body = json.dumps(
        {
            "id": "r1",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }
    ).encode()
    headers = {"content-type": "application/json"}
    async with loopback(Answer([body[:40], 0.05, body[40:]], headers=headers)) as server:
        reply = (await ask_server(server)).answer
    assert (reply.text, reply.usage.total, reply.calls[0].tool) == ("hi", 3, "f")
    async with loopback(Answer([body[:40]], headers=headers)) as server:
        assert isinstance((await ask_server(server)).error, StreamInterrupted)


async def test_cancelling_closes_the_connection() -> None:
    """Nothing goes on billing behind a cancelled turn."""
    begun = asyncio.Event()
    async with (
        loopback(Answer([text("a"), 600.0])) as server,
        httpx.AsyncClient(trust_env=False) as client,
        asyncio.timeout(30),
    ):
        adapter = ChatCompletions("local", server.endpoint, None, client)
        asking = asyncio.create_task(adapter.complete(PROMPT, lambda _: begun.set()))
        await begun.wait()
        assert not server.hung_up.is_set()
        asking.cancel()
        await server.hung_up.wait()
    assert asking.cancelled()
