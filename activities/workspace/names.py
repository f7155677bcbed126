"""A file name as the system knows it, in a resource URI, and for reading.

A name is bytes; only "/" and NUL have a meaning.  A URI holds printable, non-space
characters, so anything else is percent-encoded there, and every name that a listing
or a search shows can be passed back exactly.
"""

import os
import re
from urllib.parse import unquote_to_bytes

from activities.errors import MalformedUri

SCHEME = "workspace"

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_CONTROL_PICTURES = 0x2400
_SPACE = 0x20


def decoded(identifier: str) -> str:
    """Return the path that *identifier* names.

    Raises:
        MalformedUri: it decodes to something that no path can be.
    """
    try:
        raw = unquote_to_bytes(identifier)
    except UnicodeEncodeError:
        raise MalformedUri("The resource name is not valid Unicode") from None
    if b"\0" in raw:
        raise MalformedUri("A path cannot hold a NUL character")
    return os.fsdecode(raw)


def encoded(path: str) -> str:
    """Return *path* as the identifier of a URI; :func:`decoded` reverses it."""
    ambiguous = {match.start() for match in _ESCAPE.finditer(path)}
    return "".join(
        character
        if character.isprintable() and character != " " and place not in ambiguous
        else "".join(f"%{byte:02X}" for byte in os.fsencode(character))
        for place, character in enumerate(path)
    )


def readable(path: str) -> str:
    """Return *path* as one line of valid Unicode, for reading only."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(
        character if character.isprintable() else _visible(character) for character in text
    )


def listed(path: str) -> str:
    """Return *path* for a list, with its URI where the name alone would not lead back."""
    identifier = encoded(path)
    if identifier == path:
        return path
    return f"{readable(path)} ({SCHEME}:{identifier})"


def _visible(character: str) -> str:
    code = ord(character)
    return chr(_CONTROL_PICTURES + code) if code < _SPACE else "\N{REPLACEMENT CHARACTER}"
