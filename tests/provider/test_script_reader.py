"""A script is read completely, or refused with its file and its reply."""

from pathlib import Path

import pytest

from activities.errors import ScriptError
from activities.provider.scripted.reader import parse_script, read_script
from activities.provider.scripted.script import FaultKind, Range
from activities.provider.tool_names import wire_name

FULL = """
(:version 1
 :model "m"
 :replies ((:when (:user "u" :result "r" :system "s" :model "m" :results 1
                   :results-in-turn (0 9) :request (2 nil) :attempt 1)
            :text "t" :reasoning "why" :finish "length" :repeat 3
            :calls ((:tool "shell.run" :arguments (:a (1 2.5 "x" t nil :null ()) :b (:c (:object)))
                     :id "i")
                    (:name "raw" :arguments "{not json"))
            :usage (:input 1 :output 2 :cached 3 :reasoning 4)
            :delay 0.5 :first-delay 1 :piece 7
            :fault (:kind STALL :after 2 :seconds 3 :comments 0.5))
           (:usage nil :repeat t))
 :default (:text "d"))
"""


def test_every_key_is_read() -> None:
    """One script with all of them."""
    script = parse_script(FULL)
    first, second = script.replies
    assert script.model == "m"
    assert first.conditions.texts == {"user": "u", "result": "r", "system": "s"}
    assert first.conditions.model == "m"
    assert first.conditions.numbers == {
        "results": Range(1, 1),
        "results-in-turn": Range(0, 9),
        "request": Range(2, None),
        "attempt": Range(1, 1),
    }
    assert (first.text, first.reasoning, first.finish, first.uses) == ("t", "why", "length", 3)
    assert [call.name for call in first.calls] == [wire_name("shell.run"), "raw"]
    assert (first.delay, first.first_delay, first.piece) == (0.5, 1.0, 7)
    assert first.usage is not None
    assert first.usage.cached == 3
    assert first.fault is not None
    assert (first.fault.kind, first.fault.after) == (FaultKind.STALL, 2)
    assert (second.counts, second.uses, second.place) == (False, None, "reply 2")
    assert script.default is not None


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("(:txet 1)", ":txet is unknown"),
        ("(:text x)", ":text must be a string"),
        ("(:text)", ":text has no value"),
        ("(:when (:usr 1))", ":usr is unknown"),
        ("(:when (:results one))", ":results must be a number or a range"),
        ('(:when (:results (1 "2")))', ":results must be a number or a range"),
        ("(:calls ((:arguments ())))", ":tool or :name must be given"),
        ('(:calls ((:tool "a" :name "b")))', ":tool or :name must be given"),
        ('(:calls ((:tool "a" :arguments (:x y))))', "the name y is no value"),
        ('(:calls ((:tool "a" :arguments (:x :y))))', "the keyword :y is no value"),
        ('(:calls ((:tool "a" :arguments (1 2))))', "must be a :keyword"),
        ('(:calls ((:tool "a" :arguments (:x (:match "(")))))', "is no regular expression"),
        ('(:calls ((:tool "a" :arguments (:x (:match "a" :in there)))))', ":in must be"),
        ("(:repeat 0)", ":repeat must be t or a number from 1"),
        ("(:delay -1)", ":delay must not be negative"),
        ("(:piece 0)", ":piece must be at least 1"),
        ("(:fault (:after 1))", ":kind is missing"),
        ("(:fault (:kind explode))", ":kind must be one of cut, reset"),
        ("(:fault (:kind cut :status 500))", ":status is unknown"),
        ("(:fault (:kind status :status 200))", ":status must be an HTTP error status"),
        ('(:fault (:kind status :headers ("a")))', ":headers must be names and values"),
        ('(:fault (:kind status :headers ("content-length" "9")))', ":headers must be names"),
        ('(:fault (:kind status :headers ("a" "b\\n")))', ":headers must be names"),
        ("7", "a property list was expected"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, reply: str, message: str) -> None:
    """File, reply and key; on one line."""
    path = tmp_path / "demo.sexp"
    path.write_text(f"(:version 1 :replies (() {reply}))")
    with pytest.raises(ScriptError) as caught:
        read_script(path)
    assert str(caught.value).startswith(f"{path}: reply 2: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(:version 1\n :replies (", "demo.sexp:2:11: this list is not closed"),
        ("(:replies ())", ":version is missing"),
        ("(:version 2)", ":version must be 1"),
        ("(:version 1 :reply ())", ":reply is unknown"),
        ("(:version 1 :default (:x 1))", "default: :x is unknown"),
        ("", "there is no form"),
    ],
)
def test_a_file_that_is_no_script_is_named(tmp_path: Path, text: str, message: str) -> None:
    """Syntax errors bring line and column."""
    path = tmp_path / "demo.sexp"
    path.write_text(text)
    with pytest.raises(ScriptError) as caught:
        read_script(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    """The commonest mistake of all."""
    with pytest.raises(ScriptError, match=r"none\.sexp: there is no such script"):
        read_script(tmp_path / "none.sexp")
