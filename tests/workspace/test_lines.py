"""The line editor against a naive model, and the parts around it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import InvalidArguments
from activities.workspace.changes import difference, hunks, unified
from activities.workspace.lines import (
    FileText,
    Splice,
    given_lines,
    kept,
    ordered,
    parse,
    spliced,
    written,
)
from activities.workspace.ranges import Ranges, merged

# Everything but what ends a line, is binary, or is no Unicode.
LINE = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=6)
LINES = st.lists(LINE, max_size=12).map(tuple)
ENDING = st.sampled_from(["\n", "\r\n"])


@st.composite
def edits(draw: st.DrawFn, total: int) -> list[Splice]:
    """Draw changes of a file with *total* lines that do not overlap, in any order."""
    result = []
    line = 1
    while line <= total:
        kind = draw(st.sampled_from(["keep", "keep", "replace", "insert"]))
        last = line if kind in ("keep", "insert") else draw(st.integers(line, total))
        if kind == "replace":
            result.append(Splice(line, last, draw(LINES)))
        if kind == "insert":
            result.append(Splice(line, line - 1, draw(LINES)))
        line = last + 1
    return draw(st.permutations(result))


@st.composite
def edited(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Splice]]:
    """Draw the lines of a file, and changes of them."""
    lines = draw(st.lists(LINE, min_size=1, max_size=12).map(tuple))
    return lines, draw(edits(len(lines)))


def naive(lines: Sequence[str], splices: Sequence[Splice]) -> list[str]:
    """Apply the changes one after the other from the last to the first."""
    result = list(lines)
    for splice in sorted(splices, key=lambda splice: splice.first, reverse=True):
        result[splice.first - 1 : splice.last] = splice.lines
    return result


def as_bytes(lines: Sequence[str], ending: str, *, is_terminated: bool) -> bytes:
    """Return the content of a file, spelled out."""
    text = "".join(line + ending for line in lines)
    return text.encode() if is_terminated else text.removesuffix(ending).encode()


@given(st.binary(max_size=40) | LINES.map("\r\n".join).map(str.encode))
def test_what_is_not_edited_stays_as_it_is(content: bytes) -> None:
    """Reading and writing back changes no byte of any file that may be edited."""
    text = parse(content)

    assert text.obstacle or text.as_bytes() == content


@given(edited(), ENDING, st.booleans(), st.booleans())
def test_an_edit_equals_the_naive_model(
    drawn: tuple[tuple[str, ...], list[Splice]],
    ending: str,
    is_terminated: bool,
    has_mark: bool,
) -> None:
    """Bytes, endings, final newline and byte order mark included."""
    lines, splices = drawn
    mark = b"\xef\xbb\xbf" if has_mark else b""
    before = FileText(lines, ending, is_terminated, has_mark)

    after = spliced(before, ordered(splices, len(lines)))

    expected = naive(lines, splices)
    assert after.as_bytes() == mark + as_bytes(expected, ending, is_terminated=is_terminated)


@given(edited(), st.data())
def test_shown_lines_are_followed_through_an_edit(
    drawn: tuple[tuple[str, ...], list[Splice]], data: st.DataObject
) -> None:
    """A line is known afterwards exactly if it was shown and kept, or was given."""
    lines, splices = drawn
    total = len(lines)
    shown = data.draw(st.sets(st.integers(1, total)))
    tokens: list[str] = [str(number) for number in range(1, total + 1)]
    marked = [
        Splice(splice.first, splice.last, ("new",) * len(splice.lines)) for splice in splices
    ]

    result = naive(tokens, marked)
    changes = ordered(marked, total)
    known = merged(kept(ranges(shown), changes, total) + written(changes))

    expected = {
        number for number, token in enumerate(result, 1) if token == "new" or int(token) in shown
    }
    assert members(known) == expected


@given(LINES, LINES)
def test_a_difference_leads_from_one_to_the_other(
    old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    """And has no overlapping parts."""
    splices = difference(old, new)

    assert ordered(splices, len(old)) == splices
    assert tuple(naive(old, splices)) == new


@given(st.integers(0, 900), st.integers(0, 900))
def test_a_large_difference_does_too(old: int, new: int) -> None:
    """It becomes one block instead of a long comparison."""
    lines = tuple(f"{n % 7}" for n in range(old))
    others = tuple(f"{n % 5}" for n in range(new))

    assert tuple(naive(lines, difference(lines, others))) == others


@given(edited())
def test_a_diff_applies_to_what_it_was_made_from(
    drawn: tuple[tuple[str, ...], list[Splice]],
) -> None:
    """Its hunks name the lines before and after truthfully."""
    lines, splices = drawn
    result = naive(lines, splices)

    for hunk in hunks(lines, ordered(splices, len(lines))):
        old = [row[1:] for row in hunk.rows if row[0] in " -"]
        new = [row[1:] for row in hunk.rows if row[0] in " +"]
        assert old == list(lines[hunk.old_first - 1 : hunk.old_first - 1 + hunk.old_count])
        assert new == result[hunk.new_first - 1 : hunk.new_first - 1 + hunk.new_count]
        assert (len(old), len(new)) == (hunk.old_count, hunk.new_count)


def test_an_empty_side_of_a_diff_names_the_line_before() -> None:
    """As patch expects it."""
    created = unified("f", hunks((), [Splice(1, 0, ("a",))]), 1_000)
    emptied = unified("f", hunks(("a",), [Splice(1, 1, ())]), 1_000)

    assert created == "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"
    assert emptied == "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"


def test_inserts_at_one_place_keep_their_order() -> None:
    """Whether they were given as after one line or before the next."""
    first, second = Splice(2, 1, ("x",)), Splice(2, 1, ("y",))

    assert ordered([first, second], 2) == (first, second)
    assert ordered([second, first], 2) == (second, first)


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(1, 2, ()), Splice(2, 3, ())],
        [Splice(1, 3, ()), Splice(2, 1, ("x",))],
        [Splice(2, 2, ()), Splice(2, 2, ())],
        [Splice(5, 5, ())],
    ],
)
def test_overlapping_changes_are_refused(splices: list[Splice]) -> None:
    """Nobody can say what they would mean."""
    with pytest.raises(InvalidArguments):
        ordered(splices, 4)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ("",)),
        ("\n", ("",)),
        ("a", ("a",)),
        ("a\n", ("a",)),
        ("a\n\n", ("a", "")),
        ("a\r\nb\r\n", ("a", "b")),
        ("\ta\x0bb\u2028c", ("\ta\x0bb\u2028c",)),
    ],
)
def test_given_text_is_split_at_newlines_only(text: str, lines: tuple[str, ...]) -> None:
    """One final newline is optional."""
    assert given_lines(text) == lines


def ranges(numbers: set[int]) -> Ranges:
    """Return *numbers* as ranges."""
    return merged((number, number) for number in numbers)


def members(known: Ranges) -> set[int]:
    """Return the numbers in *known*."""
    return {number for first, last in known for number in range(first, last + 1)}
