"""A conversation's events, folded into finished rows and a live picture.

Pure: events in, rows out.  Whoever reads the same events sees the same rows, so
attaching again, a second viewer and a dead worker need nothing special.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from rich.text import Text

from cli.question import Question
from cli.terminal import rows
from cli.terminal.neutral import on_one_line
from cli.terminal.stream import Stream
from cli.terminal.wrapping import clipped
from workflows.contracts.event import Event, EventKind
from workflows.contracts.tool import CallStatus
from workflows.contracts.turn import TurnOutcome

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
CALL_ROWS = 8
"""At most eight rows of running calls, then a count."""
PREVIEWS = 3
"""At most three previews of waiting input."""


@dataclass
class RunningCall:
    """A call that has no result yet."""

    tool: str
    label: str
    since: float
    line: str = ""


@dataclass
class Transcript:
    """What a screen knows of one conversation."""

    turn: int | None = None
    """The turn that runs, as far as the events tell."""
    newest: int = 0
    """The newest turn that has begun."""
    model: str = ""
    questions: dict[str, Question] = field(default_factory=dict)
    waiting: dict[str, Event] = field(default_factory=dict)
    """Input that no turn has taken yet, by message id."""
    _started: float | None = None
    _stream: Stream = field(default_factory=Stream)
    _attempt: tuple[int, int, int] = (0, 0, 0)
    """Turn, request and attempt whose text streams."""
    _calls: dict[tuple[int, int, int], RunningCall] = field(default_factory=dict)
    _width: int = 80

    def take(self, event: Event, width: int) -> list[Text]:
        """Fold in *event* and return the rows that it finishes."""
        self._width = width
        taker = self._TAKERS.get(event.kind)
        return taker(self, event) if taker else []

    def settle(self, width: int) -> list[Text]:
        """Forget a turn that the engine no longer runs, although no event closed it."""
        if self.turn is None:
            return []
        finished = self._stream.cut("the turn ended", None, width)
        self._close()
        return finished

    def forget_waiting(self, known: set[str], *, before: float) -> None:
        """Forget input from *before* that moment which the engine does not know."""
        self.waiting = {
            message: event
            for message, event in self.waiting.items()
            if message in known or event.at >= before
        }

    def live(self, now: float, width: int) -> list[Text]:
        """Return the rows of what is going on at *now*."""
        spin = SPINNER[int(now * 10) % len(SPINNER)]
        return [
            *self._live_text(spin, now, width),
            *self._live_calls(spin, now, width),
            *self._previews(width),
        ]

    def _message(self, event: Event) -> list[Text]:
        self.waiting[event.body["message"]] = event
        return []

    def _turn_started(self, event: Event) -> list[Text]:
        self.turn, self._started = event.turn, event.at
        self.newest = event.turn
        self.waiting.pop(event.body.get("message") or "", None)
        text = event.body.get("text")
        return [Text(), *rows.message(text, self._width)] if text else []

    def _steering(self, event: Event) -> list[Text]:
        self.waiting.pop(event.body["message"], None)
        return rows.message(event.body["text"], self._width, steering=True)

    def _notice(self, event: Event) -> list[Text]:
        return rows.notice(event.body["text"], self._width)

    def _attempt_started(self, event: Event) -> list[Text]:
        self.model = event.body.get("model") or self.model
        return self._adopt(event)

    def _text(self, event: Event) -> list[Text]:
        finished = self._adopt(event)
        return finished + self._stream.add(event.body["text"], self._width)

    def _reasoning(self, event: Event) -> list[Text]:
        finished = self._adopt(event)
        self._stream.think(event.body["text"])
        return finished

    def _adopt(self, event: Event) -> list[Text]:
        """Turn to the event's attempt; what another one left behind is marked."""
        attempt = (event.turn, event.request, int(event.body["attempt"]))
        if attempt == self._attempt:
            return []
        self._attempt = attempt
        finished = self._stream.cut("no more came", attempt[-1], self._width)
        self._stream = Stream()
        return finished

    def _attempt_failed(self, event: Event) -> list[Text]:
        body, final = event.body, bool(event.body.get("final"))
        attempt = int(body["attempt"])
        finished = self._adopt(event)
        self._attempt = (0, 0, 0)
        # Whoever comes later reads no deltas any more; the event tells what they said.
        finished += self._stream.complete(body.get("partial") or "", self._width)
        if self._stream.has_text:
            following = None if final else attempt + 1
            finished += self._stream.cut(body["failure"], following, self._width)
            if not final:
                return finished
        return finished + rows.failed_attempt(
            attempt,
            body["failure"],
            body.get("message") or "",
            self._width,
            delay=body.get("delay"),
            final=final,
        )

    def _answer(self, event: Event) -> list[Text]:
        return self._stream.finish(event.body.get("text") or "", self._width)

    def _call(self, event: Event) -> list[Text]:
        label = event.body.get("label") or ""
        self._calls[_place(event)] = RunningCall(event.body["tool"], label, event.at)
        return []

    def _call_output(self, event: Event) -> list[Text]:
        call = self._calls.get(_place(event))
        if call is not None:
            call.line = event.body["line"]
        return []

    def _result(self, event: Event) -> list[Text]:
        call = self._calls.pop(_place(event), None)
        return rows.result(
            event.body["tool"],
            call.label if call else "",
            CallStatus(event.body["status"]),
            event.body.get("text") or "",
            self._width,
            seconds=event.at - call.since if call else None,
            diff=(event.body.get("details") or {}).get("diff"),
        )

    def _asked(self, event: Event) -> list[Text]:
        question = Question.of(event)
        self.questions[question.request] = question
        return rows.question(question.request, question.tool, question.command, self._width)

    def _answered(self, event: Event) -> list[Text]:
        self.questions.pop(event.body["request"], None)
        return rows.decision(event.body["answer"], self._width)

    def _job_started(self, event: Event) -> list[Text]:
        return rows.job_started(event.body["job"], event.body["label"], self._width)

    def _job_finished(self, event: Event) -> list[Text]:
        body = event.body
        return rows.job_finished(body["job"], body["state"], body.get("text") or "", self._width)

    def _turn_ended(self, event: Event) -> list[Text]:
        finished = self._stream.cut("the turn ended", None, self._width)
        started = self._started
        self._close()
        return finished + rows.outcome(
            event.turn,
            TurnOutcome(event.body["outcome"]),
            event.body.get("failure") or "",
            event.body.get("message") or "",
            self._width,
            seconds=None if started is None else event.at - started,
        )

    def _close(self) -> None:
        self.turn, self._started = None, None
        self._calls.clear()
        self.questions.clear()
        self._stream = Stream()

    def _live_text(self, spin: str, now: float, width: int) -> list[Text]:
        if self.turn is None:
            return []
        if self._stream.has_text:
            return self._stream.live(width)
        if self._calls or self.questions:
            return []
        took = "" if self._started is None else f" {rows.duration(now - self._started)}"
        thought = self._stream.thinking[-width:]
        said = f"{spin} thinking{took}" + (f" · …{on_one_line(thought)}" if thought else "")
        return [Text(clipped(said, width), "dim")]

    def _live_calls(self, spin: str, now: float, width: int) -> list[Text]:
        shown: list[Text] = []
        calls = list(self._calls.values())
        for call in calls[:CALL_ROWS]:
            shown.append(rows.running(spin, call.tool, call.label, now - call.since, width))
            if call.line:
                shown.append(Text(clipped(f"    {on_one_line(call.line)}", width), "dim"))
        if len(calls) > CALL_ROWS:
            shown.append(Text(clipped(f"  … calls {len(calls)}", width), "dim"))
        return shown

    def _previews(self, width: int) -> list[Text]:
        texts = [event.body["text"] for event in self.waiting.values()]
        shown = [
            Text(clipped(f"⋯ {on_one_line(text)}", width), "dim") for text in texts[:PREVIEWS]
        ]
        if len(texts) > PREVIEWS:
            shown.append(Text(clipped(f"⋯ {len(texts) - PREVIEWS} more wait", width), "dim"))
        return shown

    _TAKERS: ClassVar[dict[EventKind, Callable[["Transcript", Event], list[Text]]]] = {
        EventKind.MESSAGE: _message,
        EventKind.TURN_STARTED: _turn_started,
        EventKind.STEERING: _steering,
        EventKind.NOTICE: _notice,
        EventKind.ATTEMPT_STARTED: _attempt_started,
        EventKind.TEXT: _text,
        EventKind.REASONING: _reasoning,
        EventKind.ATTEMPT_FAILED: _attempt_failed,
        EventKind.ANSWER: _answer,
        EventKind.CALL: _call,
        EventKind.CALL_OUTPUT: _call_output,
        EventKind.RESULT: _result,
        EventKind.PERMISSION_ASKED: _asked,
        EventKind.PERMISSION_ANSWERED: _answered,
        EventKind.JOB_STARTED: _job_started,
        EventKind.JOB_FINISHED: _job_finished,
        EventKind.TURN_ENDED: _turn_ended,
    }


def _place(event: Event) -> tuple[int, int, int]:
    return event.turn, event.request, int(event.body["ordinal"])
