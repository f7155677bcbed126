"""The interactive client, driven through a real pty on the real embedded runtime."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.person import ALT_ENTER, CTRL_C, CTRL_D, ENTER, ESCAPE, TAB, Person
from tests.cli.running import Running, is_alive, until

Arrival = Callable[..., Person]


@pytest.fixture
def arrives(running: Running) -> Iterator[Arrival]:
    """Somebody who opens a session, and leaves when the test is over."""
    people: list[Person] = []

    def arrive(*arguments: str, columns: int = 60, rows: int = 30) -> Person:
        people.append(Person(running, *arguments, columns=columns, rows=rows))
        return people[-1]

    yield arrive
    for person in people:
        person.leaves()


def story(person: Person) -> list[str]:
    """Return the screen without times and ids, and without blank lines."""
    return [line for line in person.screen.lines if line]


def test_a_conversation_from_the_first_word_to_the_way_back(arrives: Arrival) -> None:
    """Streamed rows once each, in order; the live region leaves no trace."""
    person = arrives()
    person.sees("new conversation")
    person.says("tell a story")
    person.sees("turn 1 completed")
    person.sees("idle")
    person.types(CTRL_D)
    assert person.ends() == 0
    told = story(person)
    assert told[:4] == [
        "> tell a story",
        "Once upon a time there was a test that waited for every",
        "word.",
        "The end.",
    ]
    assert told[4].startswith("─ turn 1 completed after ")
    assert told[5].startswith("autolith attach ")
    assert len(told) == 6


def test_attach_shows_what_was_said(running: Running, arrives: Arrival) -> None:
    """And goes on with the same conversation."""
    conversation = running.begun()
    person = arrives("attach", conversation[:6])
    person.sees("Hello from the script.")
    person.sees("turn 1 completed")
    person.says("tell a story")
    person.sees("turn 2 completed")
    person.types(CTRL_C)
    assert person.ends() == 0
    assert running.outcomes(conversation) == ["completed", "completed"]


def test_an_unknown_conversation_is_one_line(arrives: Arrival) -> None:
    """No screen is opened for it."""
    person = arrives("attach", "NoSuchOne")
    assert person.ends() == 1
    assert story(person) == ["autolith: There is no conversation 'NoSuchOne'"]


def test_a_question_is_answered_inline(arrives: Arrival, tmp_path: Path) -> None:
    """A word that merely begins with f, as a person who was typing writes it, allows nothing."""
    person = arrives("--workspace", str(tmp_path))
    person.says("touch it")
    person.sees("allow? [f]ull")
    person.sees("    echo ran >> ran.txt; echo finished")
    person.types(f"fix the other thing{ENTER}")
    person.sees("then Enter", times=2)
    assert not (tmp_path / "ran.txt").exists()
    person.types(f"f{ENTER}")
    person.sees("answered: full")
    person.sees("It ran.")
    person.sees("✓ shell.run")
    assert (tmp_path / "ran.txt").read_text() == "ran\n"


def test_escape_denies_a_question(arrives: Arrival, tmp_path: Path) -> None:
    """Cancelling means deny; the turn goes on."""
    person = arrives("--workspace", str(tmp_path))
    person.says("touch it")
    person.sees("allow? [f]ull")
    person.types(ESCAPE)
    person.sees("answered: deny")
    person.sees("turn 1 completed")
    assert not (tmp_path / "ran.txt").exists()


def test_enter_steers_and_tab_queues_while_a_turn_runs(running: Running, arrives: Arrival) -> None:
    """The queued one has a turn of its own after this one."""
    person = arrives()
    person.says("let it drip")
    person.sees("one two")
    person.types("greet")
    person.sees("> greet")
    person.types(TAB)
    person.sees("⋯ greet")
    person.sees("queue 1")
    person.sees("turn 1 completed")
    person.sees("Hello from the script.")
    person.sees("turn 2 completed")
    assert running.outcomes(person.conversation) == ["completed", "completed"]


def test_escape_cancels_the_turn_and_the_queue_goes_on(running: Running, arrives: Arrival) -> None:
    """Esc ends one turn, not the work behind it."""
    person = arrives()
    person.says("go on, endless")
    person.sees("and on")
    person.types(f"greet{TAB}")
    person.sees("⋯ greet")
    person.types(ESCAPE)
    person.sees("turn 1 cancelled")
    person.sees("turn 2 completed")
    assert running.outcomes(person.conversation) == ["cancelled", "completed"]


def test_ctrl_c_cancels_and_holds_the_queue(running: Running, arrives: Arrival) -> None:
    """Until something is sent again."""
    person = arrives()
    person.says("go on, endless")
    person.sees("and on")
    person.types(f"greet{TAB}")
    person.sees("⋯ greet")
    person.types(CTRL_C)
    person.sees("turn 1 cancelled")
    person.sees("(held)")
    assert running.outcomes(person.conversation) == ["cancelled"]
    person.no_longer_sees("Ctrl-C again")
    person.says("tell a story")
    person.sees("turn 3 completed")
    assert running.texts(person.conversation)[1:3] == ["greet", "Hello from the script."]


def test_a_second_ctrl_c_forces_the_exit(running: Running, arrives: Arrival) -> None:
    """With status 130 and the way back, also while nothing answers."""
    person = arrives()
    person.says("go on, endless")
    person.sees("and on")
    server = running.status()["server"]
    os.kill(server, signal.SIGSTOP)
    try:
        person.types(CTRL_C)
        person.sees("Ctrl-C again leaves at once")
        person.types(CTRL_C)
        assert person.ends() == 130
        person.sees("autolith attach ")
    finally:
        os.kill(server, signal.SIGCONT)


def test_leaving_does_not_end_the_turn(running: Running, arrives: Arrival) -> None:
    """Nor does the loss of the terminal."""
    person = arrives()
    person.says("let it drip")
    person.sees("one two")
    conversation = person.conversation
    os.kill(person.pid, signal.SIGHUP)
    person.ends()
    until(lambda: running.outcomes(conversation) == ["completed"])


def test_pasted_lines_and_alt_enter_do_not_submit(running: Running, arrives: Arrival) -> None:
    """Bracketed or not: a paste is one insert, and one message."""
    person = arrives()
    person.sees("new conversation")
    person.types("\x1b[200~greet\nfrom a\x1b[31m paste\x1b[201~")
    person.sees("from a")
    person.types(ALT_ENTER)
    person.types("second\rthird")
    person.sees("third")
    person.types(ENTER)
    person.sees("Hello from the script.")
    sent = running.texts(person.conversation)[0]
    assert sent.splitlines() == ["greet", "from a\x1b[31m paste", "second", "third"]
    person.sees("from a␛[31m paste")


def test_commands_answer_and_unknown_ones_fail_at_once(arrives: Arrival) -> None:
    """In both spellings."""
    person = arrives()
    person.says("/frobnicate")
    person.sees("There is no command 'frobnicate'")
    person.says("(permissions everything)")
    person.sees("Usage: (permissions ask|sandbox|full)")
    person.says("(model other-model)")
    person.sees("later turns use it")
    person.says("/help")
    person.sees("(permissions MODE)")
    person.says("//greet")
    person.sees("> /greet")
    person.sees("turn 1 completed")
    person.sees("other-model")
    person.says("/status")
    person.sees("turns: 1")
    person.says("(quit)")
    assert person.ends() == 0


def test_history_is_private_and_comes_back(running: Running, arrives: Arrival) -> None:
    """The arrow recalls what an earlier session sent."""
    first = arrives()
    first.says("greet me kindly")
    first.sees("turn 1 completed")
    first.types(CTRL_D)
    first.ends()
    path = running.directory / ".local/state/autolith/input-history.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    second = arrives()
    second.sees("new conversation")
    second.types("\x1b[A")
    second.sees("> greet me kindly")


def test_a_worker_that_dies_is_marked_and_the_next_attempt_is_whole(
    running: Running, arrives: Arrival
) -> None:
    """The partial text stays, is marked, and is not joined with what follows."""
    person = arrives()
    person.says("let it drip now")
    person.sees("one two three")
    os.kill(running.status()["worker"], signal.SIGKILL)
    person.sees("[cut off: worker-lost; attempt 2]")
    person.sees("thirteen fourteen")
    person.sees("turn 1 completed")
    lines = story(person)
    mark = lines.index("[cut off: worker-lost; attempt 2]")
    assert lines[mark - 1].startswith("one two three")
    assert lines[mark + 1] == "one two three four five six seven eight nine ten eleven"


def test_a_server_that_dies_is_shown_and_nothing_is_lost(
    running: Running, arrives: Arrival
) -> None:
    """What was sent in the meantime is delivered when it is back."""
    person = arrives()
    person.says("greet")
    person.sees("turn 1 completed")
    server = running.status()["server"]
    os.kill(server, signal.SIGSTOP)
    person.says("tell a story")
    person.sees("reconnecting")
    os.kill(server, signal.SIGKILL)
    person.sees("turn 2 completed")
    person.no_longer_sees("reconnecting")
    assert not is_alive(server)
    assert running.outcomes(person.conversation) == ["completed", "completed"]


def test_narrow_and_changing_windows_keep_every_word(running: Running, arrives: Arrival) -> None:
    """Wide characters, forty columns, then twenty in the middle of a stream."""
    person = arrives(columns=40, rows=12)
    person.says("something wide")
    person.sees("turn 1 completed")
    shown = "".join(person.screen.lines)
    assert "日本語のテキストは二つのセルを使うので折り返しも正しくなければならない。" in shown
    person.says("let it drip")
    person.sees("two three")
    person.resizes(20, 12)
    person.sees("turn 2 completed")
    person.sees("fourteen")
    assert running.outcomes(person.conversation) == ["completed", "completed"]


def test_hostile_text_reaches_the_screen_as_text(arrives: Arrival) -> None:
    """The emulator refuses any control character that is not the screen's own."""
    person = arrives()
    person.says("hostile")
    person.sees("␛[2J␛]0;owned␇<U+202E>evil␍over")
    person.sees("turn 1 completed")


def test_colour_is_left_out_on_request(running: Running) -> None:
    """NO_COLOR, set and not empty, reaches the screen too."""
    plain = Running(running.directory, {**running.extra, "NO_COLOR": "1"})
    person = Person(plain)
    try:
        person.says("greet")
        person.sees("turn 1 completed")
        assert person.screen.colours == 0
    finally:
        person.leaves()
