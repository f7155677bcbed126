"""A model leads to an endpoint and a key, or to one clear line."""

from pathlib import Path

import httpx
import pytest

from activities.errors import ConfigurationError, MissingKeyError, UnknownModelError
from activities.provider.catalog import DEFAULT_MODEL, MODELS, window
from activities.provider.chat_completions import ChatCompletions
from activities.provider.credentials import Credentials
from activities.provider.registry import (
    KEY_VARIABLES,
    ServedModel,
    build_adapter,
    find_key,
    open_client,
)
from activities.shell.environment import is_secret
from tests.provider.asking import PROMPT, ask
from tests.provider.loopback import DONE, Answer, loopback, text

LOCAL = "http://127.0.0.1:8080/v1"


async def _build(tmp_path: Path, model: str = DEFAULT_MODEL, **environment: str) -> ServedModel:
    async with httpx.AsyncClient() as client:
        return build_adapter(model, environment, Credentials(tmp_path), client)


def _adapter(served: ServedModel) -> ChatCompletions:
    assert isinstance(served.adapter, ChatCompletions)
    return served.adapter


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ("", "https://api.openai.com/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://h.example/v1/", "https://h.example/v1/chat/completions"),
        ("https://h.example/api/paas/v4", "https://h.example/api/paas/v4/chat/completions"),
        ("https://h.example/x/chat/completions", "https://h.example/x/chat/completions"),
        (
            "https://h.example/v1?api-version=2",
            "https://h.example/v1/chat/completions?api-version=2",
        ),
    ],
)
async def test_an_endpoint_is_a_full_address_or_a_base(
    tmp_path: Path, given: str, endpoint: str
) -> None:
    """Both forms are in every server's documentation."""
    served = await _build(tmp_path, OPENAI_API_KEY="sk-x", AUTOLITH_OPENAI_ENDPOINT=given)
    assert str(_adapter(served).endpoint) == endpoint


@pytest.mark.parametrize(
    "given",
    [
        "api.openai.com/v1",
        "ftp://h.example/v1",
        "https:///v1",
        "https://h.example",
        "https://h.example/completions",
        "https://user:hunter2@h.example/v1",
        "http://[::1/v1",
        "https://h.example:port/v1",
        "http://h.example/v1",
        "http://xn--\ud800/v1",
    ],
)
async def test_an_unusable_endpoint_is_one_clear_line(tmp_path: Path, given: str) -> None:
    """The variable is named, and no password is repeated."""
    with pytest.raises(ConfigurationError) as caught:
        await _build(tmp_path, OPENAI_API_KEY="sk-x", AUTOLITH_OPENAI_ENDPOINT=given)
    message = str(caught.value)
    assert message.startswith("AUTOLITH_OPENAI_ENDPOINT ")
    assert "\n" not in message
    assert "hunter2" not in message


async def test_a_key_is_needed_beyond_this_machine(tmp_path: Path) -> None:
    """The message says what to do."""
    with pytest.raises(MissingKeyError, match="set OPENAI_API_KEY, or run 'autolith auth openai'"):
        await _build(tmp_path)


@pytest.mark.parametrize(
    "endpoint", [LOCAL, "http://localhost/v1", "http://[::1]:9/v1", "http://127.9.9.9/v1"]
)
async def test_a_local_server_needs_no_key(tmp_path: Path, endpoint: str) -> None:
    """It may have one all the same."""
    served = await _build(tmp_path, AUTOLITH_OPENAI_ENDPOINT=endpoint)
    assert served.family == f"chat-completions:{httpx.URL(endpoint).host}"


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    """Our own variable beats the common one, and an empty one is not set."""
    credentials = Credentials(tmp_path)
    credentials.save("openai", "sk-stored")
    keys = {"AUTOLITH_OPENAI_API_KEY": "sk-own", "OPENAI_API_KEY": "sk-common\n"}
    assert find_key(keys, credentials) == "sk-own"
    assert find_key(keys | {"AUTOLITH_OPENAI_API_KEY": " "}, credentials) == "sk-common"
    assert find_key({}, credentials) == "sk-stored"


@pytest.mark.parametrize("key", ["sk with space", "sk-ü", "sk\x00"])
async def test_an_unusable_key_is_refused_unseen(tmp_path: Path, key: str) -> None:
    """It would not fit into a header, and the library's error would show it."""
    with pytest.raises(ConfigurationError, match="The key in OPENAI_API_KEY is no key") as caught:
        await _build(tmp_path, OPENAI_API_KEY=key)
    assert key not in str(caught.value)


async def test_an_unknown_model_is_sent_as_it_is(tmp_path: Path) -> None:
    """The catalog is no limit."""
    served = await _build(tmp_path, "vendor/model:free", AUTOLITH_OPENAI_ENDPOINT=LOCAL)
    assert served.wire_model == "vendor/model:free"


@pytest.mark.parametrize("model", ["", " ", "a b", "a\nb", "x" * 300])
async def test_what_cannot_be_a_model_is_refused(tmp_path: Path, model: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UnknownModelError):
        await _build(tmp_path, model, AUTOLITH_OPENAI_ENDPOINT=LOCAL)


def test_the_default_model_is_in_the_catalog() -> None:
    """With the default window, as every model that declares none."""
    assert DEFAULT_MODEL in [entry.id for entry in MODELS]
    assert window(DEFAULT_MODEL) == window("anything") == 272_000


@pytest.mark.parametrize("variable", KEY_VARIABLES)
def test_no_command_inherits_a_key(variable: str) -> None:
    """What the registry reads, the shell drops."""
    assert is_secret(variable)


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A company's proxy could not reach it."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with loopback(Answer([text("hi", "stop"), DONE])) as server, open_client() as client:
        asked = await ask(ChatCompletions("local", server.endpoint, None, client))
    assert asked.answer.text == "hi"


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    """The key would go to a host that nobody chose."""
    async with loopback(Answer([text("hi", "stop"), DONE])) as elsewhere:
        moved = Answer([], 307, {"location": elsewhere.endpoint})
        async with loopback(moved) as server, open_client() as client:
            environment = {"AUTOLITH_OPENAI_ENDPOINT": server.endpoint}
            served = build_adapter("m", environment, Credentials(tmp_path), client)
            asked = await ask(_adapter(served), PROMPT)
    assert asked.error.status == 307
    assert elsewhere.requests == []
