"""Rows are broken by words and cells, and a finished row never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.terminal.wrapping import clipped, wrap

TEXT = st.text(alphabet="ab c\n日é")
WIDTH = st.integers(2, 30)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("the quick brown fox", 10, ["the quick", "brown fox"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("    indented words", 12, ["    indented", "words"]),
        ("aa abcdefghijk", 5, ["aa", "abcde", "fghij", "k"]),
        ("日本語 and", 5, ["日本", "語", "and"]),
        ("hello      ", 5, ["hello"]),
        ("", 5, [""]),
    ],
)
def test_words_stay_whole_where_they_fit(text: str, width: int, rows: list[str]) -> None:
    """Long words are folded, wide characters count twice, indentation stays."""
    assert wrap(text, width) == rows


@given(TEXT, WIDTH)
def test_no_row_is_wider_than_asked(text: str, width: int) -> None:
    """Also with wide characters."""
    assert all(cell_len(row) <= width for row in wrap(text, width))


@given(TEXT, WIDTH)
def test_no_word_is_lost(text: str, width: int) -> None:
    """Only blanks at breaks disappear."""
    assert "".join("".join(wrap(text, width)).split()) == "".join(text.split())


@given(TEXT, TEXT, WIDTH)
def test_a_row_that_another_follows_is_final(text: str, more: str, width: int) -> None:
    """So a stream may hand it over before the rest arrives."""
    finished = wrap(text, width)[:-1]
    assert wrap(text + more, width)[: len(finished)] == finished


@given(TEXT, st.integers(0, 30))
def test_clipping_fits(text: str, width: int) -> None:
    """A clipped text fits and says that it was cut."""
    line = text.replace("\n", " ")
    cut = clipped(line, width)
    assert cell_len(cut) <= width
    assert cut == line or width == 0 or cut.endswith("…")
