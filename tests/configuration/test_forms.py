"""One data-only form is read exactly, and everything else is refused with its place."""

from pathlib import Path

import pytest

from activities.configuration.forms import (
    MAX_DEPTH,
    NIL,
    Form,
    Keyword,
    Symbol,
    T,
    parse_form,
    read_form,
)
from activities.errors import ConfigurationError, MalformedFormError


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("(:version 1)", (Keyword("version"), 1)),
        ("(:version 1) ; a trailing comment", (Keyword("version"), 1)),
        ("; first\n x ;last", Symbol("x")),
        ('"a\\nb\\t\\"\\\\\\u00e9 ; ( 🌍"', 'a\nb\t"\\é ; ( 🌍'),
        ('""', ""),
        ("()", ()),
        ("nil", NIL),
        ("NIL", NIL),
        ("t", T),
        ("T", T),
        (":null", Keyword("null")),
        ("false", Symbol("false")),
        ("-12", -12),
        ("+3.", 3),
        ("1.5", 1.5),
        ("-.5e-3", -0.0005),
        ("2e3", 2000.0),
        ("Mixed/Case", Symbol("Mixed/Case")),
        ("a#b", Symbol("a#b")),
        ("(a(b)c)", (Symbol("a"), (Symbol("b"),), Symbol("c"))),
    ],
)
def test_data_reads_as_what_it_says(text: str, form: Form) -> None:
    """Every kind of value has one reading."""
    value = parse_form(text)
    assert value == form
    assert type(value) is type(form)


def test_symbols_that_python_takes_for_numbers_stay_symbols() -> None:
    """Field case A-56: only ASCII decimal numbers are numbers."""
    names = ("nan", "inf", "Infinity", "1_000", "١٢", "１", "0x10", "1.2.3", "+", "-", "1e", "...")  # noqa: RUF001 -- the full-width digit is the case
    assert parse_form(f"({' '.join(names)})") == tuple(Symbol(name) for name in names)


def test_the_four_values_of_json_stay_distinct() -> None:
    """Field case A-55: nil, the empty list, :null and absence are four things."""
    form = parse_form("(:disabled-p nil :arguments () :x :null :enabled-p T)")
    assert form == (
        Keyword("disabled-p"),
        NIL,
        Keyword("arguments"),
        (),
        Keyword("x"),
        Keyword("null"),
        Keyword("enabled-p"),
        T,
    )


def test_one_table_escapes_symbols() -> None:
    """Field case A-57: a backslash takes the next character as it is."""
    form = parse_form("(path\\.join a\\ b \\#x \\12 \\:k :a\\ b)")
    names = ("path.join", "a b", "#x", "12", ":k")
    assert form == (*(Symbol(name) for name in names), Keyword("a b"))


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("(:version 1) (:evil t)", 1, 14, "second form"),
        ("(:version 1) x", 1, 14, "second form"),
        ("", 1, 1, "no form"),
        ("; only comment", 1, 15, "no form"),
        ("(:version 1)'", 1, 13, "not data"),
        ("(a\n 'b)", 2, 2, "not data"),
        ("(a . b)", 1, 4, "dotted pair"),
        ("|x y|", 1, 1, "not data"),
        ("(a|b|)", 1, 3, "not data"),
        ("#.(run)", 1, 1, "not data"),
        ("#|block|# x", 1, 1, "not data"),
        ("[a]", 1, 1, "not data"),
        ("(a]", 1, 3, "unexpected"),
        ("(a\n (b)", 1, 1, "not closed"),
        ("(a))", 1, 4, "unexpected"),
        (")", 1, 1, "unexpected"),
        ('(a\n "b)', 2, 2, "string is not closed"),
        ('"a\\', 1, 3, "escape"),
        ('"\\q"', 1, 2, "unknown escape"),
        ('"\\ud800"', 1, 2, "unknown escape"),
        ("(a \\", 1, 4, "not data"),
        ("1e999", 1, 1, "out of range"),
        pytest.param("9" * 5000, 1, 1, "out of range", id="long-integer"),
        ("a\u00a0b", 1, 2, "not data"),
        pytest.param("(" * 500_000, 1, 129, "levels", id="deep"),
        pytest.param(f"({'a ' * 300_000})", 1, 524_288, "lists and atoms", id="wide"),
    ],
)
def test_what_is_not_one_form_is_refused_at_its_place(
    text: str, line: int, column: int, reason: str
) -> None:
    """Field case A-54: a typed error with line and column, in every mode of Python."""
    with pytest.raises(MalformedFormError, match=reason) as caught:
        parse_form(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "\n" not in str(caught.value)


def test_lists_may_nest_as_deep_as_the_limit() -> None:
    """128 levels are read; parentheses in strings do not count."""
    text = "(" * MAX_DEPTH + '"(((("' + ")" * MAX_DEPTH
    form = parse_form(text)
    for _ in range(MAX_DEPTH):
        assert isinstance(form, tuple)
        (form,) = form
    assert form == "(((("


def test_a_file_is_read_with_its_line_ends(tmp_path: Path) -> None:
    """Bytes are not translated, and a byte order mark is no symbol."""
    path = tmp_path / "file.sexp"
    path.write_bytes(b'\xef\xbb\xbf(:text "a\r\nb")\r\n')
    assert read_form(path) == (Keyword("text"), "a\r\nb")


def test_a_file_that_is_not_utf_8_is_refused_at_its_place(tmp_path: Path) -> None:
    """The place of the first bad byte is named together with the file."""
    path = tmp_path / "file.sexp"
    path.write_bytes(b'(:text\n "\xe9")')
    with pytest.raises(MalformedFormError, match=r"file\.sexp:2:3: not UTF-8"):
        read_form(path)


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    """Many files are optional."""
    with pytest.raises(FileNotFoundError):
        read_form(tmp_path / "none.sexp")


def test_a_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    """What cannot be read is a configuration error with its path."""
    with pytest.raises(ConfigurationError, match=r"cannot be read: Is a directory"):
        read_form(tmp_path)


def test_an_endless_file_is_refused() -> None:
    """Reading stops at the bound."""
    with pytest.raises(MalformedFormError, match="larger than"):
        read_form(Path("/dev/zero"))
