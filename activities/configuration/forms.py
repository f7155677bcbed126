"""Read one data-only s-expression.  The only module that knows ``sexpdata``.

Nothing is ever evaluated, and what is not plain data (quotes, bars, ``#`` syntax,
dotted pairs) is refused with its place.  ``sexpdata`` walks the lists; the atoms
and strings are ours, because its own turn ``nan``, ``1_000`` and Arabic digits
into numbers, ``nil`` into a list, and some escapes into themselves.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

import sexpdata

from activities.errors import ConfigurationError, MalformedFormError

MAX_BYTES: Final = 16 * 1024 * 1024
"""A data file has bounded bytes (domain reference 4.9; field cases, header)."""
MAX_DEPTH: Final = 128
"""A data file has bounded depth: lists nest up to 128 levels."""
MAX_NODES: Final = 262_144
"""A data file has bounded node counts: lists and atoms together."""
MAX_DIGITS: Final = 400
"""A longer integer is a mistake; Python itself gives up at 4,300 digits."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name such as ``mistral``.  ``NIL`` and ``T`` are the symbols ``nil`` and ``t``."""

    name: str

    def __post_init__(self) -> None:
        """Fold the case of the two symbols that Lisp programs write in capitals."""
        if self.name.upper() in ("NIL", "T"):
            object.__setattr__(self, "name", self.name.lower())


@dataclass(frozen=True, slots=True)
class Keyword:
    """A name such as ``:endpoint``; *name* is without the colon."""

    name: str


Form: TypeAlias = str | int | float | Symbol | Keyword | tuple["Form", ...]

NIL: Final = Symbol("nil")
"""False, and nothing else: the empty list is ``()`` and JSON's null is ``:null``."""
T: Final = Symbol("t")

SPECIAL: Final = "()[]{}\"'`,;|\\"
"""Characters that end an atom or are refused in it, unless a backslash stands before."""
CONTROLS: Final = "\\s\\x00-\\x1f\\x7f-\\x9f"
"""White space and control characters, as a regular expression has them."""
INTEGER: Final = re.compile(r"[+-]?[0-9]+\.?", re.ASCII)
FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9]*\.[0-9]+|[0-9]+(?:\.[0-9]*)?(?=[eE]))(?:[eE][+-]?[0-9]+)?"
)
STRING_ESCAPES: Final = {
    "\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"
}  # fmt: skip
"""What may follow a backslash in a string, besides ``uXXXX``.  The writer uses the same table."""

_ATOM = re.compile(rf"(?:[^{CONTROLS}{re.escape(SPECIAL)}]|\\[^{CONTROLS}]|\\ )+")
_STRING_STOP = re.compile(r'["\\]')
_CODE_POINT = re.compile(r"u([0-9a-fA-F]{4})")
_ESCAPED = re.compile(r"\\(.)")


def read_form(path: Path) -> Form:
    """Return the single form in *path*.

    Raises:
        FileNotFoundError: there is no such file, which is often ordinary.
        MalformedFormError: the file is too large, too deep, not UTF-8 or not one form.
        ConfigurationError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise MalformedFormError(f"the file is larger than {MAX_BYTES:,} bytes", path=path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        line, column = _place(before, len(before))
        raise MalformedFormError("not UTF-8", path=path, line=line, column=column) from error
    return parse_form(text, path=path)


def parse_form(text: str, *, path: Path | None = None) -> Form:
    """Return the single form that *text* holds; *path* only names the place of an error.

    Raises:
        MalformedFormError: the text is not exactly one form within the bounds.
    """
    if len(text) > MAX_BYTES:
        raise MalformedFormError(f"the text is larger than {MAX_BYTES:,} characters", path=path)
    return _Reader(text, path).read()


def _place(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of *offset*."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class _Reader(sexpdata.Parser):  # type: ignore[misc]  # sexpdata carries no types
    """sexpdata's list walk with our atoms, our strings, and a place for every refusal.

    The three ``parse_`` methods are called back by that walk, with the offset of
    the text they are to read; each returns the offset after it.
    """

    def __init__(self, text: str, path: Path | None) -> None:
        super().__init__(text)
        self.text, self.path = text, path
        self.depth = self.nodes = 0

    def read(self) -> Form:
        end, forms = self.parse_sexp(0)
        if end < len(self.text):
            self.refuse(end, f"unexpected {self.text[end]!r}")
        if not forms:
            self.refuse(len(self.text), "there is no form")
        form: Form = forms[0]
        return form

    def refuse(self, offset: int, reason: str) -> NoReturn:
        line, column = _place(self.text, offset)
        raise MalformedFormError(reason, path=self.path, line=line, column=column)

    def parse_sexp(self, i: int) -> tuple[int, tuple[Form, ...]]:
        opener = self.text[i - 1] if i else ""
        if opener:
            self.open(opener, i - 1)
        self.depth += 1
        end, forms = super().parse_sexp(i)
        self.depth -= 1
        if opener and end >= len(self.text):
            self.refuse(i - 1, "this list is not closed")
        if opener and self.text[end] != ")":
            self.refuse(end, f"unexpected {self.text[end]!r}")
        return end, tuple(forms)

    def parse_atom(self, i: int) -> tuple[int, Form]:
        match = _ATOM.match(self.text, i)
        atom = match.group() if match else ""
        if not match or atom.startswith("#"):
            self.refuse(i, f"{self.text[i]!r} is not data")
        if atom == ".":
            self.refuse(i, "a dotted pair is not data")
        self.count(i)
        try:
            return match.end(), _atom_form(atom)
        except OverflowError:
            self.refuse(i, f"the number {atom[:20]} is out of range")

    def parse_str(self, i: int) -> tuple[int, str]:
        self.count(i)
        pieces: list[str] = []
        at = i + 1
        while (char := self.text[at : at + 1]) != '"':
            if not char:
                self.refuse(i, "this string is not closed")
            at = self.unescape(at + 1, pieces) if char == "\\" else self.plain(at, pieces)
        return at + 1, "".join(pieces)

    def plain(self, at: int, pieces: list[str]) -> int:
        end = _STRING_STOP.search(self.text, at)
        pieces.append(self.text[at : end.start() if end else None])
        return end.start() if end else len(self.text)

    def unescape(self, at: int, pieces: list[str]) -> int:
        code = _CODE_POINT.match(self.text, at)
        char = chr(int(code.group(1), 16)) if code else STRING_ESCAPES.get(self.text[at : at + 1])
        if char is None or "\ud800" <= char <= "\udfff":
            self.refuse(at - 1, f"unknown escape \\{self.text[at : at + 1]} in a string")
        pieces.append(char)
        return code.end() if code else at + 1

    def open(self, opener: str, offset: int) -> None:
        if opener != "(":
            self.refuse(offset, f"{opener!r} is not data")
        if self.depth > MAX_DEPTH:
            self.refuse(offset, f"more than {MAX_DEPTH} levels of lists")
        self.count(offset)

    def count(self, offset: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.refuse(offset, f"more than {MAX_NODES:,} lists and atoms")
        if self.depth == 1 and self.nodes > 1:
            self.refuse(offset, "a second form; there must be exactly one")


def _atom_form(atom: str) -> Form:
    """Return the meaning of an atom.  One with a backslash never is a number."""
    name = _ESCAPED.sub(r"\1", atom)
    if atom.startswith(":") and len(atom) > 1:
        return Keyword(name[1:])
    if INTEGER.fullmatch(atom):
        if len(atom) > MAX_DIGITS:
            raise OverflowError
        return int(atom.rstrip("."))
    if FLOAT.fullmatch(atom):
        number = float(atom)
        if math.isinf(number):
            raise OverflowError
        return number
    return Symbol(name)
