"""Tool names on a wire that allows 64 letters, digits, ``_`` and ``-``.

Domain reference 15.4: an ``a`` plus URL-safe base64 of namespace, NUL, name, at
most 64 characters.  A longer name becomes an ``h`` plus a digest, which the tools
of the request turn back.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from functools import lru_cache

WIRE_CHARACTERS = 64
"""Chat Completions tool names must fit 64 characters and stay reversible."""


@lru_cache(maxsize=4096)
def wire_name(tool: str) -> str:
    """Return the wire name of a canonical name."""
    namespace, _, name = tool.rpartition(".")
    content = f"{namespace}\0{name}".encode("utf-8", "replace")
    encoded = "a" + base64.urlsafe_b64encode(content).decode().rstrip("=")
    if len(encoded) <= WIRE_CHARACTERS:
        return encoded
    return "h" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def canonical_name(word: str, tools: Iterable[str] = ()) -> str:
    """Return the canonical name behind *word*, or *word* itself when it is none of ours."""
    for tool in tools:
        if wire_name(tool) == word:
            return tool
    decoded = _decoded(word)
    return decoded if decoded and wire_name(decoded) == word else word


def _decoded(word: str) -> str | None:
    if not word.startswith("a") or not word.isascii():
        return None
    try:
        padded = word[1:] + "=" * (-len(word[1:]) % 4)
        content = base64.urlsafe_b64decode(padded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    namespace, separator, name = content.partition("\0")
    if not separator:
        return None
    return f"{namespace}.{name}" if namespace else name
