"""What a screen shows of the events, exactly."""

from collections.abc import Iterable

import pytest
from rich.text import Text

from cli.terminal.transcript import Transcript
from workflows.contracts.event import Event, EventKind

K = EventKind
WIDTH = 60
HOSTILE = "\x1b[2J\x1b[1A"


class Log:
    """Builds a conversation's events, a second apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: EventKind, *, turn: int = 1, number: int = 1, **body: object) -> "Log":
        """Append one event."""
        seq = len(self.events) + 1
        self.events.append(
            Event(
                conversation="c",
                seq=seq,
                turn=turn,
                request=number,
                kind=kind,
                at=1000.0 + seq,
                body=body,
            )
        )
        return self


def shown(events: Iterable[Event], width: int = WIDTH) -> list[str]:
    """Return the finished rows of *events*."""
    transcript = Transcript()
    return [row.plain for event in events for row in transcript.take(event, width)]


def after(events: Iterable[Event], width: int = WIDTH) -> Transcript:
    """Return the transcript that has seen *events*."""
    transcript = Transcript()
    for event in events:
        transcript.take(event, width)
    return transcript


def plain(rows: Iterable[Text]) -> list[str]:
    """Return rows without style."""
    return [row.plain for row in rows]


def opened() -> Log:
    """A turn that has just been opened and asks for the first time."""
    log = Log().add(K.MESSAGE, turn=0, message="m1", text="fix the test", delivery="queue")
    log.add(K.TURN_STARTED, message="m1", text="fix the test")
    return log.add(K.ATTEMPT_STARTED, attempt=1, model="scripted")


def test_a_whole_turn_reads_like_a_story() -> None:
    """Message, text, call with output, answer and end, each once."""
    log = opened()
    log.add(K.TEXT, attempt=1, text="I look at the file and then I run")
    log.add(K.TEXT, attempt=1, text=" the test to see what is wrong with it.")
    log.add(
        K.ANSWER, text="I look at the file and then I run the test to see what is wrong with it."
    )
    log.add(K.CALL, ordinal=0, tool="resource.read", label="stats.py", arguments="{}")
    log.add(K.CALL, ordinal=1, tool="shell.run", label="pytest -q", arguments="{}")
    log.add(K.CALL_OUTPUT, ordinal=1, line="collecting")
    log.add(K.RESULT, ordinal=0, tool="resource.read", status="ok", text="1 import", details={})
    log.add(K.RESULT, ordinal=1, tool="shell.run", status="ok", text="exit 0\n3 passed\n")
    log.add(K.ATTEMPT_STARTED, number=2, attempt=1, model="scripted")
    log.add(K.TEXT, number=2, attempt=1, text="All")
    log.add(K.ANSWER, number=2, text="All pass.\n")
    log.add(K.TURN_ENDED, outcome="completed", failure=None, message=None)
    assert shown(log.events) == [
        "",
        "> fix the test",
        "I look at the file and then I run the test to see what is",
        "wrong with it.",
        "✓ resource.read stats.py 3.0 s",
        "✓ shell.run pytest -q 3.0 s",
        "    exit 0",
        "    3 passed",
        "All pass.",
        "─ turn 1 completed after 13 s",
    ]


def test_a_cut_off_text_stays_and_is_never_joined_with_the_next_attempt() -> None:
    """The partial text is marked, then the next attempt begins on a row of its own."""
    log = opened().add(K.TEXT, attempt=1, text="The answer is fo")
    log.add(
        K.ATTEMPT_FAILED,
        attempt=1,
        failure="worker-lost",
        message="the worker was lost",
        output_started=True,
        delay=0.5,
        final=False,
        partial="The answer is fo",
    )
    log.add(K.ATTEMPT_STARTED, attempt=2, model="scripted")
    log.add(K.TEXT, attempt=2, text="The answer is 42.")
    log.add(K.ANSWER, text="The answer is 42.")
    assert shown(log.events)[2:] == [
        "The answer is fo",
        "[cut off: worker-lost; attempt 2]",
        "The answer is 42.",
    ]


def test_a_late_reader_sees_the_same_cut_off_text() -> None:
    """The deltas are pruned by then; the failure carries what they said."""
    log = opened().add(
        K.ATTEMPT_FAILED, attempt=1, failure="transport", final=False, partial="The answer is fo"
    )
    log.add(K.ATTEMPT_STARTED, attempt=2, model="scripted").add(K.ANSWER, text="It is 42.")
    assert shown(log.events)[2:] == [
        "The answer is fo",
        "[cut off: transport; attempt 2]",
        "It is 42.",
    ]


def test_an_attempt_whose_end_nobody_recorded_is_marked_when_the_next_begins() -> None:
    """A new attempt number is enough."""
    log = opened().add(K.TEXT, attempt=1, text="half a sen")
    log.add(K.TEXT, attempt=2, text="A whole sentence.").add(K.ANSWER, text="A whole sentence.")
    assert shown(log.events)[2:] == [
        "half a sen",
        "[cut off: no more came; attempt 2]",
        "A whole sentence.",
    ]


def test_a_failure_before_any_text_is_one_row_with_the_delay() -> None:
    """Also the last failure, which has none."""
    log = opened().add(
        K.ATTEMPT_FAILED,
        attempt=1,
        failure="overloaded",
        message="try\nlater" + HOSTILE,
        output_started=False,
        delay=2.25,
        final=False,
    )
    log.add(K.ATTEMPT_STARTED, attempt=2, model="scripted")
    log.add(K.ATTEMPT_FAILED, attempt=2, failure="refused", message="no", delay=None, final=True)
    log.add(K.TURN_ENDED, outcome="failed", failure="refused", message="no")
    assert shown(log.events)[2:] == [
        "✗ attempt 1 failed: overloaded: try later␛[2J␛[1A; again in",
        "  2.2 s",
        "✗ attempt 2 failed: refused: no",
        "─ turn 1 failed after 5.0 s: refused: no",
    ]


def test_an_answer_without_deltas_is_shown_whole() -> None:
    """As for a client that attaches later."""
    assert shown(opened().add(K.ANSWER, text="one\n\ntwo").events)[2:] == ["one", "", "two"]


def test_an_answer_that_differs_from_the_stream_is_shown_as_stored() -> None:
    """The stored text counts; the streamed one is not taken for it."""
    log = opened().add(K.TEXT, attempt=1, text="abc").add(K.ANSWER, text="xyz")
    assert shown(log.events)[2:] == ["abc", "[the answer as it was stored:]", "xyz"]


def test_streamed_rows_leave_one_by_one_and_the_last_stays_live() -> None:
    """Every wrapped row is kept."""
    transcript = after(opened().events, 20)
    taken: list[str] = []
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    for seq, piece in enumerate(numbers):
        event = Event(
            conversation="c",
            seq=100 + seq,
            turn=1,
            request=1,
            kind=K.TEXT,
            at=1.0,
            body={"attempt": 1, "text": f"{piece} "},
        )
        taken += plain(transcript.take(event, 20))
    assert taken == ["one two three four", "five six seven eight"]
    assert plain(transcript.live(1.0, 20)) == ["nine ten "]


def test_running_calls_spin_with_their_last_line_and_waiting_input_is_previewed() -> None:
    """The live region tells what goes on."""
    log = opened().add(K.CALL, ordinal=0, tool="shell.run", label="make test", arguments="{}")
    log.add(K.CALL_OUTPUT, ordinal=0, line=f"compiling{HOSTILE}")
    log.add(K.MESSAGE, turn=0, message="m2", text="and then\ncommit", delivery="queue")
    transcript = after(log.events)
    assert plain(transcript.live(1010.0, WIDTH)) == [
        "⠋ shell.run make test 6.0 s",
        "    compiling␛[2J␛[1A",
        "⋯ and then commit",
    ]


def test_more_calls_and_more_waiting_input_than_fit_are_counted() -> None:
    """Eight calls and three previews, then numbers."""
    log = opened()
    for ordinal in range(10):
        log.add(K.CALL, ordinal=ordinal, tool="resource.read", label=f"f{ordinal}", arguments="")
    for number in range(5):
        log.add(K.MESSAGE, turn=0, message=f"q{number}", text=f"text {number}", delivery="queue")
    live = plain(after(log.events).live(1013.0, 40))
    assert live[8] == "  … calls 10"
    assert live[-1] == "⋯ 2 more wait"
    assert len(live) == 8 + 1 + 3 + 1


def test_reasoning_is_shown_live_only() -> None:
    """It scrolls by in one row."""
    log = opened().add(K.REASONING, attempt=1, text="the median of an even list")
    transcript = after(log.events)
    assert plain(transcript.live(1010.0, 50)) == ["⠋ thinking 8.0 s · …the median of an even list"]
    assert shown(log.events)[2:] == []


def test_a_question_shows_the_whole_command_escaped() -> None:
    """A command cannot hide what it does behind a carriage return."""
    log = opened().add(
        K.PERMISSION_ASKED,
        ordinal=0,
        request="1.1.0",
        tool="shell.run",
        command="rm -rf ~\recho \u202eharmless\n" + "x" * 80,
        sandbox=False,
    )
    transcript = after(log.events)
    assert list(transcript.questions) == ["1.1.0"]
    assert shown(log.events)[2:] == [
        "? shell.run wants to run (1.1.0):",
        "    rm -rf ~␍echo <U+202E>harmless",
        "    " + "x" * 56,
        "    " + "x" * 24,
    ]
    answered = log.add(K.PERMISSION_ANSWERED, ordinal=0, request="1.1.0", answer="deny")
    assert after(answered.events).questions == {}
    assert shown(answered.events)[-1] == "  answered: deny"


def test_steering_leaves_the_previews_when_it_reached_the_model() -> None:
    """And is shown where it arrived."""
    log = opened().add(K.MESSAGE, turn=0, message="m2", text="use pytest", delivery="steer")
    assert list(after(log.events).waiting) == ["m2"]
    log.add(K.STEERING, number=2, message="m2", text="use pytest")
    assert after(log.events).waiting == {}
    assert shown(log.events)[-1] == ">> use pytest"


def test_jobs_and_notices_have_rows() -> None:
    """Text from outside is neutral and bounded."""
    log = opened().add(K.JOB_STARTED, turn=0, job="J1", label="sleep 300")
    log.add(K.JOB_FINISHED, turn=0, job="J1", state="failed", text="exit 1")
    log.add(K.NOTICE, text="job J1 failed")
    assert shown(log.events)[2:] == [
        "⚙ job J1 started: sleep 300",
        "⚙ job J1 failed",
        "    exit 1",
        "· job J1 failed",
    ]


def test_long_output_keeps_its_end() -> None:
    """Twelve rows; a command says at the end what went wrong."""
    text = "\n".join(f"line {number}" for number in range(1, 31))
    log = opened().add(K.CALL, ordinal=0, tool="shell.run", label="make", arguments="{}")
    log.add(K.RESULT, ordinal=0, tool="shell.run", status="error", text=text)
    rows = shown(log.events)[2:]
    assert rows[:2] == ["✗ shell.run make 1.0 s", "    … 18 rows above"]
    assert rows[2] == "    line 19"
    assert rows[-1] == "    line 30"


def test_a_failed_read_shows_why_and_a_successful_one_only_that_it_was() -> None:
    """The compact view hides routine successes but keeps failures."""
    log = opened().add(K.RESULT, ordinal=0, tool="search.files", status="ok", text="a\nb")
    log.add(K.RESULT, ordinal=1, tool="search.files", status="error", text="no such folder")
    log.add(K.RESULT, ordinal=2, tool="search.files", status="unknown", text="may have run")
    assert shown(log.events)[2:] == [
        "✓ search.files",
        "✗ search.files",
        "    no such folder",
        "? search.files",
        "    may have run",
    ]


def test_an_edit_is_shown_as_its_changes() -> None:
    """Removed and added rows have their colour."""
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
    log = opened().add(
        K.RESULT, ordinal=0, tool="resource.edit", status="ok", text="R1", details={"diff": diff}
    )
    transcript = Transcript()
    rows = [row for event in log.events for row in transcript.take(event, WIDTH)][-5:]
    assert [(row.plain, str(row.style)) for row in rows] == [
        ("    --- a/x", "bold"),
        ("    +++ b/x", "bold"),
        ("    @@ -1 +1 @@", "cyan"),
        ("    -old", "red"),
        ("    +new", "green"),
    ]


@pytest.mark.parametrize("width", [4, 20, 40, 200])
def test_every_row_fits_any_width(width: int) -> None:
    """Down to a few columns, wide characters included."""
    log = opened()
    log.add(K.TEXT, attempt=1, text="日本語のテキスト and words, many of them " * 3)
    log.add(K.ATTEMPT_FAILED, attempt=1, failure="transport", message="gone", final=True)
    log.add(K.CALL, ordinal=0, tool="shell.run", label="日本 " * 30, arguments="{}")
    log.add(K.CALL_OUTPUT, ordinal=0, line="日本 " * 30)
    log.add(K.MESSAGE, turn=0, message="m2", text="日本 " * 30, delivery="queue")
    transcript = Transcript()
    rows = [row for event in log.events for row in transcript.take(event, width)]
    rows += transcript.live(1020.0, width)
    assert [row.plain for row in rows if row.cell_len > width] == []


def test_a_turn_that_the_engine_lost_is_let_go() -> None:
    """Its text is marked and nothing spins any more."""
    transcript = after(opened().add(K.TEXT, attempt=1, text="half").events)
    assert plain(transcript.settle(WIDTH)) == ["half", "[cut off: the turn ended]"]
    assert transcript.turn is None
    assert transcript.live(1020.0, WIDTH) == []


def test_input_that_the_engine_does_not_know_is_forgotten_unless_it_is_newer() -> None:
    """A message that was sent after the question keeps its preview."""
    log = Log()
    for number in range(3):
        log.add(K.MESSAGE, turn=0, message=f"m{number}", text="x", delivery="queue")
    transcript = after(log.events)
    transcript.forget_waiting({"m1"}, before=log.events[2].at)
    assert list(transcript.waiting) == ["m1", "m2"]
