"""Field cases K1 and K2, over real HTTP on loopback."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from activities.errors import (
    IncompleteReply,
    MalformedReply,
    ProviderOverloaded,
    ProviderRefused,
    RateLimited,
    StreamInterrupted,
    TransportFailure,
    Unauthorized,
)
from activities.provider.adapter import DeltaKind
from activities.provider.chat_completions import ChatCompletions
from tests.provider.asking import KEY, PROMPT, ask, ask_bytes, ask_server
from tests.provider.loopback import DONE, RESET, Answer, calls, event, loopback, text
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


async def test_an_error_inside_a_stream_is_a_failed_attempt() -> None:
    """A-05: with code, message and ids, before and after output, never an empty answer."""
    report = {"id": "z", "choices": [], "error": {"code": 502, "message": "worker limit 33/32"}}
    before = (await ask_bytes(event(report), DONE)).error
    assert isinstance(before, ProviderOverloaded)
    assert (before.status, before.code, before.output_started) == (502, "502", False)
    assert str(before) == "local: worker limit 33/32"
    assert before.identifiers["response-id"] == "z"
    after = (await ask_bytes(text("a"), text("b"), text("c"), event(report), DONE)).error
    assert isinstance(after, ProviderOverloaded)
    assert after.output_started


async def test_a_finish_reason_of_error_is_a_failed_attempt() -> None:
    """A-05: also without an error object."""
    asked = await ask_bytes(text("a"), text("", "error"), DONE)
    assert isinstance(asked.error, StreamInterrupted)
    assert asked.error.output_started


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        ({"type": "server_error", "message": "x"}, ProviderOverloaded),
        ({"code": "slow_down", "message": "x"}, ProviderOverloaded),
        ({"code": "rate_limit_exceeded", "message": "x"}, RateLimited),
        ({"code": 429, "message": "x"}, RateLimited),
        ({"code": "invalid_api_key", "message": "x"}, Unauthorized),
        ({"code": "context_length_exceeded", "message": "x"}, ProviderRefused),
        ({"type": "invalid_request_error", "message": "x"}, ProviderRefused),
        ({"code": "400", "message": "x"}, ProviderRefused),
        ({"message": "x"}, StreamInterrupted),
        ("x", StreamInterrupted),
    ],
)
async def test_permanent_errors_are_told_from_temporary_ones(
    report: object, kind: type[Exception]
) -> None:
    """Domain reference 7.4 and 22: structured server errors pass, permanent ones fail at once."""
    error = (await ask_bytes(event({"error": report}))).error
    assert type(error) is kind
    assert str(error) == "local: x"


async def test_a_rate_limit_in_words_says_how_long() -> None:
    """A stream has no headers left to say it with."""
    report = {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}
    assert (await ask_bytes(event({"error": report}))).error.retry_after == 1.5


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


def _http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (
            429,
            {"retry-after": _http_date(NOW + timedelta(seconds=3)), "date": _http_date(NOW)},
            3.0,
        ),
        (429, {"retry-after-ms": "700"}, 0.7),
        (429, {"retry-after-ms": "", "retry-after": "2"}, 2.0),
        (429, {"retry-after-ms": "soon", "retry-after": "2.5"}, 2.5),
        (429, {"retry-after": "-1"}, None),
        (429, {"retry-after": "nan"}, None),
        (429, {"retry-after": "tomorrow"}, None),
        (429, {"retry-after": _http_date(NOW), "date": _http_date(NOW + timedelta(1))}, 0.0),
        (503, {"retry-after": "0"}, 0.0),
        (503, {}, None),
    ],
)
async def test_the_provider_says_how_long_to_wait(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    """A-08: as milliseconds, seconds or a date by the server's own clock."""
    async with loopback(Answer([b"{}"], status, headers)) as server:
        error = (await ask_server(server)).error
    assert isinstance(error, RateLimited if status == 429 else ProviderOverloaded)
    assert error.retry_after == seconds


@pytest.mark.parametrize("status", [500, 502, 503, 504, 507, 529])
async def test_overload_statuses_are_retryable(status: int) -> None:
    """A-09 and domain reference 7.4."""
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    headers = {"content-type": "application/json", "x-request-id": "req-1"}
    async with loopback(Answer([body], status, headers)) as server:
        error = (await ask_server(server)).error
    assert isinstance(error, ProviderOverloaded)
    assert error.retryable
    assert not error.output_started
    assert (error.status, error.code) == (status, "overloaded_error")
    assert error.identifiers == {"request-id": "req-1"}


async def test_overload_as_an_event_is_retryable_in_its_phase() -> None:
    """A-09: the first event, and the same after a delta."""
    overload = (
        b'event: error\ndata: {"type":"error",'
        b'"error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
    first, later = (await ask_bytes(overload)).error, (await ask_bytes(text("a"), overload)).error
    assert isinstance(first, ProviderOverloaded)
    assert isinstance(later, ProviderOverloaded)
    assert (first.output_started, later.output_started) == (False, True)
    assert first.code == "overloaded_error"


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


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
async def test_a_reply_cut_at_a_limit_is_incomplete(reason: str) -> None:
    """Domain reference 22: retried with its reason."""
    error = (await ask_bytes(text("a", reason), DONE)).error
    assert isinstance(error, IncompleteReply)
    assert (error.code, error.output_started, error.retryable) == (reason, True, True)


async def test_a_filtered_reply_is_refused() -> None:
    """Asking again would not help."""
    assert isinstance((await ask_bytes(text("a", "content_filter"))).error, ProviderRefused)


async def test_the_models_refusal_is_its_answer() -> None:
    """It comes in a field of its own."""
    chunk = {"choices": [{"delta": {"refusal": "I cannot."}, "finish_reason": "stop"}]}
    asked = await ask_bytes(event(chunk), DONE)
    assert asked.answer.text == asked.shown == "I cannot."


async def test_lines_and_events_are_bounded() -> None:
    """Domain reference 7.4: 1 MiB per line, 4 MiB per event."""
    long_line = b"data: " + b"x" * (1024 * 1024 + 1)
    many_lines = (b"data: " + b"x" * 1_000_000 + b"\n") * 5
    for stream in (long_line, long_line + b"\n\n", many_lines):
        error = (await ask_bytes(stream)).error
        assert isinstance(error, StreamInterrupted)
        assert "more than" in str(error)


async def test_the_key_is_never_shown() -> None:
    """Domain reference 15.5: exact credential strings are redacted, also at the cut."""
    report = {"message": f"bad key {KEY}\n" + "x" * 960 + KEY, "code": KEY}
    body = json.dumps({"error": report, "request_id": KEY}).encode()
    async with loopback(Answer([body], 401, {"content-type": "application/json"})) as server:
        error = (await ask_server(server)).error
    assert isinstance(error, Unauthorized)
    said = f"{error} {error.code} {error.identifiers}"
    assert KEY[:6] not in said
    assert "\n" not in said
    assert len(str(error)) <= 1_100
    assert f"authorization: Bearer {KEY}" in server.heads[0].replace(
        "Authorization", "authorization"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"detail":"Not Found"}', "HTTP 404: Not Found"),
        (b'{"detail":[{"msg":"field required"},{"msg":"bad"}]}', "HTTP 404: field required; bad"),
        (b'{"error":"no such model"}', "HTTP 404: no such model"),
        (b'[{"error":{"code":404,"message":"gone"}}]', "HTTP 404: gone"),
        (b"<h1>404\n page</h1>", "HTTP 404: <h1>404 page</h1>"),
        (b"", "HTTP 404: no explanation"),
        (b"\xff", "HTTP 404: \ufffd"),
    ],
)
async def test_every_servers_explanation_is_found(body: bytes, words: str) -> None:
    """Servers put it in many places."""
    async with loopback(Answer([body], 404)) as server:
        error = (await ask_server(server)).error
    assert isinstance(error, ProviderRefused)
    assert str(error) == f"local: {words}"


async def test_a_web_page_is_no_reply() -> None:
    """A wrong address or a captive portal says 200 too."""
    async with loopback(Answer([b"<html>"], 200, {"content-type": "text/html"})) as server:
        assert isinstance((await ask_server(server)).error, MalformedReply)


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
