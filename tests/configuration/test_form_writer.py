"""What is written reads back equal, and what cannot be written is refused before."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.configuration.form_writer import publish_form, write_form
from activities.configuration.forms import (
    MAX_DEPTH,
    NIL,
    Form,
    Keyword,
    Symbol,
    parse_form,
    read_form,
)
from activities.errors import MalformedFormError, UnwritableRootError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.one_of(
    st.text(
        st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), include_characters=" "),
        min_size=1,
    ),
    st.text("()[]{}\"'`,;|\\#:. 1e+-", min_size=1),
    st.sampled_from(
        ["NIL", "nil", "t", "1", "1.5", ".5", "1e3", ".", "..", "1.", "nan", ":", "#"]
    ),
)
ATOMS = st.one_of(
    TEXTS,
    st.integers(min_value=-(10**300), max_value=10**300),
    st.floats(allow_nan=False, allow_infinity=False),
    NAMES.map(Symbol),
    NAMES.map(Keyword),
)
FORMS = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=5).map(tuple), max_leaves=40)


@given(FORMS)
def test_every_form_reads_back_equal(form: Form) -> None:
    """A round trip changes neither value nor type."""
    again = parse_form(write_form(form))
    assert again == form
    assert repr(again) == repr(form)


@given(TEXTS)
def test_a_written_form_is_free_of_control_characters(text: str) -> None:
    """A terminal may show it, and a line reader may split it."""
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in write_form(text))


def test_the_escapes_are_pinned() -> None:
    """Files outlive releases, so the written text may not drift (field case A-57)."""
    form = (Symbol("a b"), Symbol("path.join"), Symbol("#x"), Symbol("12"), NIL, (), "\x00\n\x85é")
    assert write_form(form) == '(a\\ b path.join \\#x \\12 nil () "\\u0000\\n\\u0085é")'


def _nested(levels: int) -> Form:
    form: Form = "x"
    for _ in range(levels):
        form = (form,)
    return form


def test_the_deepest_readable_form_is_writable() -> None:
    """Writer and reader have the same bound."""
    assert parse_form(write_form(_nested(MAX_DEPTH))) == _nested(MAX_DEPTH)


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        None,
        True,
        [1],
        {"a b": 1},
        float("nan"),
        float("inf"),
        Symbol(""),
        Symbol("a\nb"),
        Keyword(""),
        Keyword("a\u00a0b"),
        "\ud800",
        (1, ("ok", b"x")),
        _nested(300),
    ],
)
def test_what_no_form_can_say_is_refused(value: object, tmp_path: Path) -> None:
    """Field case A-58: a typed error, and nothing is written."""
    path = tmp_path / "file.sexp"
    with pytest.raises(MalformedFormError, match="cannot be written"):
        publish_form(path, value)  # type: ignore[arg-type]  # the wrong type is the case
    assert list(tmp_path.iterdir()) == []


def test_a_published_form_is_private_and_replaces_the_old_one(tmp_path: Path) -> None:
    """Readers see the old or the new file; nobody else reads either."""
    path = tmp_path / "file.sexp"
    publish_form(path, (Keyword("version"), 1))
    publish_form(path, (Keyword("version"), 2))
    assert read_form(path) == (Keyword("version"), 2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The failure is one line with the path."""
    with pytest.raises(UnwritableRootError, match=r"none/file\.sexp: cannot be written: No such"):
        publish_form(tmp_path / "none" / "file.sexp", 1)


def test_a_failed_publication_leaves_nothing_behind(tmp_path: Path) -> None:
    """The temporary file goes when the target cannot be replaced."""
    target = tmp_path / "file.sexp"
    target.mkdir()
    with pytest.raises(UnwritableRootError):
        publish_form(target, 1)
    assert list(tmp_path.iterdir()) == [target]
