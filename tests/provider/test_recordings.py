"""Real traffic parses to exactly what the vendor's own library made of it."""

import json
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from activities.provider.chat_completions import ChatCompletions
from activities.provider.errors import ProviderError, RateLimited
from tests.provider.asking import KEY, Asked, ask, ask_server
from tests.provider.loopback import Answer, loopback

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
STREAMS = sorted(
    path
    for path in RECORDINGS.glob("*/chat-completions/*.json")
    if not path.name.endswith(".expected.json")
)
REFUSALS = [
    path
    for path in sorted(RECORDINGS.glob("*/errors/*.json"))
    if json.loads(path.read_text())["wire"] == "chat-completions"
]

pytestmark = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not here")

Cut = Callable[[bytes], list[bytes]]


def _whole(body: bytes) -> list[bytes]:
    return [body]


def _bytes(body: bytes) -> list[bytes]:
    return [body[index : index + 1] for index in range(len(body))]


def _at_random(seed: int) -> Cut:
    def cut(body: bytes) -> list[bytes]:
        chance = random.Random(seed)
        places = sorted(chance.sample(range(len(body)), chance.randrange(1, 60)))
        return [
            body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)
        ]

    return cut


CUTS: dict[str, Cut] = {"whole": _whole, "bytes": _bytes} | {
    f"seed-{seed}": _at_random(seed) for seed in range(8)
}


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


async def _replay(recording: dict[str, Any], cut: Cut) -> Asked:
    """Ask a transport that says the recorded bytes, cut as told."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(
            recording["status"],
            headers=recording["headers"],
            stream=_Pieces(cut(recording["body"].encode())),
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        return await ask(ChatCompletions("recorded", "http://provider/v1", KEY, client))


def _assert_expected(asked: Asked, expected: dict[str, Any]) -> None:
    if error := expected.get("sdk_error"):
        assert str(asked.error) == f"recorded: {error.removeprefix('APIError: ')}"
        return
    reply = asked.answer
    calls = [
        {"id": call.call_id, "name": call.tool, "arguments": call.arguments}
        for call in reply.calls
    ]
    usage = reply.usage.model_dump()
    assert {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "calls": calls,
        "finish": reply.finish,
        "usage": usage if any(value is not None for value in usage.values()) else None,
    } == expected
    assert asked.shown == reply.text


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
async def test_a_recorded_stream_means_what_is_expected(path: Path, cut: str) -> None:
    """However the network cuts it."""
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    _assert_expected(await _replay(json.loads(path.read_text()), CUTS[cut]), expected)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
async def test_a_recorded_stream_comes_over_real_http(path: Path) -> None:
    """The same over a socket, with the recorded headers."""
    recording = json.loads(path.read_text())
    async with loopback(
        Answer([recording["body"].encode()], headers=recording["headers"])
    ) as server:
        asked = await ask_server(server)
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    if "sdk_error" in expected:
        assert expected["sdk_error"].removeprefix("APIError: ") in str(asked.error)
    else:
        assert asked.answer.text == expected["text"]


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
async def test_a_recorded_stream_cut_short_is_never_an_answer(path: Path) -> None:
    """A prefix is a failed attempt, or the whole reply when only the usage is missing."""
    recording = json.loads(path.read_text())
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    body = recording["body"]
    chance = random.Random(path.stem)
    for end in chance.sample(range(len(body)), 25):
        asked = await _replay({**recording, "body": body[:end]}, _whole)
        if asked.reply:
            assert asked.reply.text == expected.get("text")
            assert len(asked.reply.calls) == len(expected["calls"])
        else:
            assert isinstance(asked.failure, ProviderError)


@pytest.mark.parametrize("path", REFUSALS, ids=lambda path: path.stem)
async def test_a_recorded_refusal_keeps_the_providers_words(path: Path) -> None:
    """The status decides the kind, and the provider's explanation is shown."""
    recording = json.loads(path.read_text())
    error = (await _replay(recording, _whole)).error
    report = json.loads(recording["body"])["error"]
    assert error.status == recording["status"]
    assert report["message"] in str(error)
    assert report.get("metadata", {}).get("raw", "") in str(error)
    assert not error.retryable
    assert isinstance(error, RateLimited) == (recording["status"] == 429)
