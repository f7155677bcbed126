"""Which provider serves a model, and with which key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import httpx

from activities.errors import ConfigurationError, MissingKeyError, UnknownModelError
from activities.provider.adapter import ProviderAdapter
from activities.provider.chat_completions import ChatCompletions
from activities.provider.credentials import Credentials, usable_key
from activities.provider.endpoints import chat_endpoint, is_loopback

OPENAI: Final = "openai"
DEFAULT_ENDPOINT: Final = "https://api.openai.com/v1/chat/completions"
ENDPOINT_VARIABLE: Final = "AUTOLITH_OPENAI_ENDPOINT"
KEY_VARIABLES: Final = ("AUTOLITH_OPENAI_API_KEY", "OPENAI_API_KEY")
"""The variables that hold a key; the first that is set wins, and both beat the stored key."""
PROVIDER_VARIABLES: Final = (ENDPOINT_VARIABLE, *KEY_VARIABLES)
"""Every variable that decides where a request goes and as whom."""
LONGEST_MODEL: Final = 256


@dataclass
class ServedModel:
    """Where a model is to be had."""

    adapter: ProviderAdapter
    wire_model: str
    """The provider's own name of it."""
    family: str
    """Who can read its private reasoning."""


def build_adapter(
    model: str,
    environment: Mapping[str, str],
    credentials: Credentials,
    client: httpx.AsyncClient,
) -> ServedModel:
    """Return who serves *model*; an id that no catalog knows is sent as it is.

    Raises:
        UnknownModelError: *model* cannot be an id.
        MissingKeyError: the endpoint is not on this machine, and there is no key for it.
        ConfigurationError: the endpoint, the key or the key file cannot be used.
    """
    if not model.isprintable() or len(model) > LONGEST_MODEL or len(model.split()) != 1:
        raise UnknownModelError(f"{model[:40]!r} is no model id; 'autolith models' lists some")
    endpoint = chat_endpoint(
        environment.get(ENDPOINT_VARIABLE, "").strip() or DEFAULT_ENDPOINT, ENDPOINT_VARIABLE
    )
    key = find_key(environment, credentials)
    if not is_loopback(endpoint):
        _protect(endpoint, key)
    adapter = ChatCompletions(OPENAI, str(endpoint), key, client)
    return ServedModel(adapter, model.strip(), adapter.family)


def find_key(environment: Mapping[str, str], credentials: Credentials) -> str | None:
    """Return the key: the environment beats the file.

    Raises:
        ConfigurationError: what is there cannot be a key.
    """
    for variable in KEY_VARIABLES:
        if value := environment.get(variable, "").strip():
            return usable_key(value, variable)
    return credentials.key(OPENAI)


def open_client() -> httpx.AsyncClient:
    """Return the client that all adapters of a process share.

    It follows no redirect, since that would carry the key to another host, and
    sends nothing for this machine through a proxy.
    """
    direct = httpx.AsyncHTTPTransport()
    loopback = ("127.0.0.1", "localhost", "[::1]")
    return httpx.AsyncClient(
        follow_redirects=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        mounts={f"all://{host}": direct for host in loopback},
    )


def _protect(endpoint: httpx.URL, key: str | None) -> None:
    """Refuse to go without a key, or to let one be read on the way."""
    if key is None:
        raise MissingKeyError(
            f"There is no key for {endpoint.host}: set OPENAI_API_KEY, or run 'autolith auth "
            f"{OPENAI}', or point {ENDPOINT_VARIABLE} at a server on this machine"
        )
    if endpoint.scheme != "https":
        raise ConfigurationError(
            f"{ENDPOINT_VARIABLE} must begin with https:// because a key would be sent to "
            f"{endpoint.host}"
        )
