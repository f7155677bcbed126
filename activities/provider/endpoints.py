"""Where a provider is, and what may be sent there."""

import ipaddress
import re

import httpx

from activities.errors import ConfigurationError

PATH = "/chat/completions"
_BASE = re.compile(r"/v\d+$", re.ASCII)


def chat_endpoint(text: str, origin: str) -> httpx.URL:
    """Return the endpoint that *text* names: the full address, or a base that ends in ``/v1``.

    Raises:
        ConfigurationError: it cannot be one; *origin* says where it came from.
    """
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ConfigurationError(f"{origin} is no URL") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(f"{origin} must begin with http:// or https:// and name a host")
    if url.userinfo:
        raise ConfigurationError(f"{origin} must not hold a user or password; use a key")
    path = url.path.rstrip("/")
    if path.endswith(PATH):
        return url.copy_with(path=path, fragment=None)
    if _BASE.search(path):
        return url.copy_with(path=f"{path}{PATH}", fragment=None)
    raise ConfigurationError(f"{origin} must end in {PATH} or in /v1")


def is_loopback(url: httpx.URL) -> bool:
    """Tell whether *url* stays on this machine."""
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False
