"""Write a form so that it always reads back equal, and publish it atomically."""

import math
import os
import re
import tempfile
from pathlib import Path

from activities.configuration.forms import (
    CONTROLS,
    FLOAT,
    INTEGER,
    MAX_DEPTH,
    SPECIAL,
    STRING_ESCAPES,
    Form,
    Keyword,
    Symbol,
)
from activities.errors import MalformedFormError, UnwritableRootError

_SHORT_ESCAPES = {char: f"\\{letter}" for letter, char in STRING_ESCAPES.items()}
_IN_STRING = re.compile(r'[\\"\x00-\x1f\x7f-\x9f]')
_IN_ATOM = re.compile(rf"[ {re.escape(SPECIAL)}]")
_UNWRITABLE = re.compile(rf"(?! )[{CONTROLS}\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def write_form(value: Form) -> str:
    """Return *value* on one line, unless its strings hold more.

    Raises:
        MalformedFormError: it holds something that no form can say.
    """
    return _write(value, 0)


def publish_form(path: Path, value: Form) -> None:
    """Replace *path* with *value* in one step; only the owner can read it.

    Raises:
        MalformedFormError: *value* holds something that no form can say.
        UnwritableRootError: the file cannot be written; the old one is untouched.
    """
    content = f"{write_form(value)}\n".encode()
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        _sync_directory(path.parent)
    except OSError as error:
        raise UnwritableRootError(f"{path}: cannot be written: {error.strerror}") from error


def _sync_directory(path: Path) -> None:
    """Make a rename survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(value: Form, depth: int) -> str:
    # A bool is an int to Python, but would read back as a symbol.
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if isinstance(value, Symbol):
        return _symbol(value.name)
    if isinstance(value, Keyword):
        return f":{_name(value.name)}"
    if isinstance(value, tuple):
        if depth == MAX_DEPTH:
            raise MalformedFormError(f"more than {MAX_DEPTH} levels of lists cannot be written")
        return f"({' '.join(_write(element, depth + 1) for element in value)})"
    raise MalformedFormError(f"a value of type {type(value).__name__} cannot be written")


def _string(text: str) -> str:
    if _SURROGATE.search(text):
        raise MalformedFormError("half of a surrogate pair cannot be written")
    escaped = _IN_STRING.sub(
        lambda match: _SHORT_ESCAPES.get(match.group()) or f"\\u{ord(match.group()):04x}", text
    )
    return f'"{escaped}"'


def _number(value: float) -> str:
    text = repr(value)
    if not math.isfinite(value):
        raise MalformedFormError(f"the number {text} cannot be written")
    return text


def _symbol(name: str) -> str:
    written = _name(name)
    reads_otherwise = INTEGER.fullmatch(name) or FLOAT.fullmatch(name) or name == "."
    return f"\\{written}" if reads_otherwise or name[0] in "#:" else written


def _name(name: str) -> str:
    if not name or _UNWRITABLE.search(name):
        raise MalformedFormError(f"the name {name!r} cannot be written")
    return _IN_ATOM.sub(r"\\\g<0>", name)
