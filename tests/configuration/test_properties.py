"""Property lists are read by key, and every refusal names the key and the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.configuration.forms import parse_form
from activities.configuration.properties import (
    Properties,
    as_boolean,
    as_integer,
    as_list,
    as_name,
    as_number,
    as_properties,
    as_text,
    properties,
)
from activities.errors import ConfigurationError


def _read(text: str) -> Properties:
    return properties(parse_form(text), path=Path("/x.sexp"))


def test_values_are_read_by_key_and_type() -> None:
    """Each getter returns the Python value."""
    values = _read('(:a "x" :b 2 :c 1.5 :d T :e NIL :f (1) :g nil :h Mistral :i (:k 1))')
    assert as_text(values, "a") == "x"
    assert as_integer(values, "b") == 2
    assert as_number(values, "b") == 2.0
    assert as_number(values, "c") == 1.5
    assert as_boolean(values, "d") is True
    assert as_boolean(values, "e") is False
    assert as_list(values, "f") == (1,)
    assert as_list(values, "g") == ()
    assert as_name(values, "h") == "mistral"
    assert as_properties(values, "i") == {"k": 1}


def test_an_absent_key_has_its_default() -> None:
    """A default may be of another type, such as None."""
    values = _read("()")
    assert as_text(values, "a", None) is None
    assert as_integer(values, "a", 7) == 7
    assert as_boolean(values, "a", default=True) is True
    assert as_properties(values, "a") == {}


@pytest.mark.parametrize("getter", [as_text, as_integer, as_number, as_boolean, as_list, as_name])
def test_a_wrong_type_or_a_missing_key_is_named(
    getter: Callable[[Properties, str], object],
) -> None:
    """The person learns which key of which file to mend."""
    value = '"x"' if getter is not as_text else "x"
    with pytest.raises(ConfigurationError, match=r"^/x\.sexp: :limit must be "):
        getter(_read(f"(:limit {value})"), "limit")
    with pytest.raises(ConfigurationError, match=r"^/x\.sexp: :limit is missing$"):
        getter(_read("()"), "limit")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(:a 1 :b)", ":b has no value"),
        ("(:a 1 :a 2)", ":a stands twice"),
        ("(a 1)", "element 1 of a list must be a :keyword"),
        ('"a"', "a property list was expected"),
    ],
)
def test_what_is_no_property_list_is_refused(text: str, reason: str) -> None:
    """Odd lists, duplicates and keys that are no keywords are mistakes."""
    with pytest.raises(ConfigurationError, match=reason):
        _read(text)


def test_unknown_keys_are_refused() -> None:
    """A misspelt key must not be ignored."""
    assert _read("(:a 1)").only("a", "b") == {"a": 1}
    with pytest.raises(ConfigurationError, match=":limti is unknown; known are :limit, :name"):
        _read("(:limti 1)").only("limit", "name")
