"""Nothing that a model or a tool writes controls the terminal (field case A-62)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.terminal.neutral import neutralise, on_one_line

HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_a_screen_clearing_title_setting_clipboard_writing_text_is_shown() -> None:
    """The field case's own bytes appear as pictures."""
    hostile = "\x1b[2J\x1b]0;T\x07\x1b]52;c;eA==\x07\x1b[1A\x1b[Kapproved? y\n"
    assert neutralise(hostile) == "␛[2J␛]0;T␇␛]52;c;eA==␇␛[1A␛[Kapproved? y\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf /\recho harmless", "rm -rf /␍echo harmless"),
        ("a\x08b\x7fc", "a␈b␡c"),
        ("\x9b2J", "<U+009B>2J"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("a\u2066b\u2069\u200f", "a<U+2066>b<U+2069><U+200F>"),
        ("a\u2028b", "a<U+2028>b"),
        ("lone \ud83d half", "lone <U+D83D> half"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("Zürich 日本 🎉 e\u0301", "Zürich 日本 🎉 e\u0301"),
    ],
)
def test_controls_are_visible_and_text_is_kept(text: str, shown: str) -> None:
    """Carriage return, backspace, delete, C1 and bidirectional controls have a form."""
    assert neutralise(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_no_control_character_is_left(text: str) -> None:
    """Whatever goes in, only line feed and tab come out of the control range."""
    out = neutralise(text)
    assert all(character in "\n\t" or unicodedata.category(character) != "Cc" for character in out)
    assert "\x1b" not in out
    out.encode()


def test_one_line_stays_one_line() -> None:
    """Line breaks of any kind become spaces."""
    assert on_one_line("a\r\nb\n\n c\x1b") == "a b c␛"
