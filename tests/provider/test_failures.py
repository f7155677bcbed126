"""Every way in which a provider says no is a typed failure with its own words."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from activities.provider.errors import (
    IncompleteReply,
    MalformedReply,
    ProviderOverloaded,
    ProviderRefused,
    RateLimited,
    StreamInterrupted,
    Unauthorized,
)
from tests.provider.asking import KEY, ask_bytes, ask_server
from tests.provider.loopback import DONE, Answer, event, loopback, text


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


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
async def test_a_reply_cut_at_a_limit_is_incomplete(reason: str) -> None:
    """Domain reference 22: retried with its reason."""
    error = (await ask_bytes(text("a", reason), DONE)).error
    assert isinstance(error, IncompleteReply)
    assert (error.code, error.output_started, error.retryable) == (reason, True, True)


async def test_a_filtered_reply_is_refused() -> None:
    """Asking again would not help."""
    assert isinstance((await ask_bytes(text("a", "content_filter"))).error, ProviderRefused)


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
