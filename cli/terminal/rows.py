"""Rows of the transcript: pure functions from what happened to lines of a width.

Every text that a model, a tool or a file wrote is neutralised here, so a row is
safe for a terminal whatever it was made from.
"""

from rich.text import Text

from cli.terminal.neutral import neutralise, on_one_line
from cli.terminal.wrapping import TAB, clipped, wrap
from workflows.contracts.tool import CallStatus
from workflows.contracts.turn import TurnOutcome

OUTPUT_ROWS = 12
"""12 lines of output are shown (domain reference 20)."""
QUIET = ("resource.read", "search.")
"""The compact view hides routine successes but keeps failures, edits and commands."""
INDENT = "    "

MARKS = {
    CallStatus.OK: ("✓", "green"),
    CallStatus.ERROR: ("✗", "red"),
    CallStatus.DENIED: ("⊘", "yellow"),
    CallStatus.CANCELLED: ("⊘", "yellow"),
    CallStatus.UNKNOWN: ("?", "bold yellow"),
}
OUTCOMES = {
    TurnOutcome.COMPLETED: "dim",
    TurnOutcome.FAILED: "red",
    TurnOutcome.CANCELLED: "yellow",
}


def message(text: str, width: int, *, steering: bool = False) -> list[Text]:
    """Lay out what the owner said."""
    mark = ">> " if steering else "> "
    return _hanging(mark, shown(text), width, "bold cyan" if not steering else "cyan")


def answer(text: str, width: int) -> list[Text]:
    """Lay out text of the model."""
    return [Text(row) for row in wrap(shown(text).rstrip(), width)]


def notice(text: str, width: int) -> list[Text]:
    """Lay out what Autolith told the model."""
    return _hanging("· ", shown(text), width, "dim", most=OUTPUT_ROWS)


def running(mark: str, tool: str, label: str, seconds: float | None, width: int) -> Text:
    """Lay out the one row of a call that has not ended."""
    return _call(mark, "cyan", tool, label, seconds, width)


def result(
    tool: str,
    label: str,
    status: CallStatus,
    text: str,
    width: int,
    *,
    seconds: float | None = None,
    diff: str | None = None,
) -> list[Text]:
    """Lay out a finished call: its row, then as much of its output as matters."""
    mark, style = MARKS[status]
    rows = [_call(mark, style, tool, label, seconds, width)]
    if diff:
        return rows + _changes(diff, width)
    if status is CallStatus.OK and tool.startswith(QUIET):
        return rows
    return rows + _output(text, width)


def failed_attempt(
    attempt: int, failure: str, message: str, width: int, *, delay: float | None, final: bool
) -> list[Text]:
    """Lay out an attempt of a request that failed, and what comes next."""
    said = f": {message}" if message else ""
    then = "" if final else f"; again in {duration(delay or 0)}"
    line = f"attempt {attempt} failed: {failure}{said}{then}"
    return _hanging("✗ ", on_one_line(line), width, "red" if final else "yellow")


def cut_off(reason: str, attempt: int | None, width: int) -> list[Text]:
    """Mark the partial text above as belonging to an attempt that failed."""
    then = f"; attempt {attempt}" if attempt else ""
    return _hanging("", f"[cut off: {on_one_line(reason)}{then}]", width, "dim yellow")


def question(request: str, tool: str, command: str, width: int) -> list[Text]:
    """Lay out a permission question with the whole command, escaped."""
    head = _hanging("? ", f"{on_one_line(tool)} wants to run ({request}):", width, "bold yellow")
    return head + _block(shown(command), width, "yellow")


def decision(answer: str, width: int) -> list[Text]:
    """Lay out how a question was answered."""
    return _hanging("  ", f"answered: {on_one_line(answer)}", width, "dim")


def job_started(job: str, label: str, width: int) -> list[Text]:
    """Lay out the start of a detached command."""
    return _hanging("⚙ ", f"job {job} started: {on_one_line(label)}", width, "cyan")


def job_finished(job: str, state: str, text: str, width: int) -> list[Text]:
    """Lay out the end of a detached command."""
    return _hanging("⚙ ", f"job {job} {state}", width, "cyan") + _output(text, width)


def outcome(
    turn: int, ended: TurnOutcome, failure: str, message: str, width: int, *, seconds: float | None
) -> list[Text]:
    """Lay out the end of a turn."""
    took = "" if seconds is None else f" after {duration(seconds)}"
    why = ": ".join(part for part in (failure, on_one_line(message)) if part)
    line = f"turn {turn} {ended.value}{took}" + (f": {why}" if why else "")
    return _hanging("─ ", line, width, OUTCOMES[ended])


def plain(line: str, width: int, style: str = "") -> list[Text]:
    """Lay out a line of Autolith's own."""
    return _hanging("", shown(line), width, style)


def duration(seconds: float) -> str:
    """Return *seconds* as a person says it."""
    if seconds < 10:  # noqa: PLR2004 -- a tenth matters only to short waits
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def shown(text: str) -> str:
    """Return the display copy of *text*: neutralised, with the line ends of a screen."""
    return neutralise(text.replace("\r\n", "\n")).replace("\t", TAB)


def _call(mark: str, style: str, tool: str, label: str, seconds: float | None, width: int) -> Text:
    took = "" if seconds is None else f" {duration(seconds)}"
    name = on_one_line(tool)
    room = width - len(mark) - len(took) - 1
    if room < len(took):
        took, room = "", width - len(mark) - 1
    said = clipped(f"{name} {on_one_line(label)}".rstrip(), room)
    row = Text(f"{mark} ", style)
    row.append(said[: len(name)], "bold")
    row.append(said[len(name) :])
    row.append(took, "dim")
    return row


def _output(text: str, width: int) -> list[Text]:
    """Lay out the end of *text*: that is where commands put their errors."""
    rows = wrap(shown(text).strip("\n"), width - len(INDENT)) if text.strip() else []
    hidden = len(rows) - OUTPUT_ROWS
    kept = [Text(f"{INDENT}{row}", "dim") for row in rows[-OUTPUT_ROWS:]]
    return [Text(f"{INDENT}… {hidden} rows above", "dim italic"), *kept] if hidden > 0 else kept


def _changes(diff: str, width: int) -> list[Text]:
    """Lay out a unified diff, its beginning first."""
    lines = shown(diff).splitlines()
    rows = [
        Text(f"{INDENT}{row}", _change_style(line))
        for line in lines
        for row in wrap(line, width - len(INDENT))
    ]
    hidden = len(rows) - 2 * OUTPUT_ROWS
    if hidden > 0:
        return [*rows[: 2 * OUTPUT_ROWS], Text(f"{INDENT}… {hidden} rows more", "dim italic")]
    return rows


def _change_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")


def _block(text: str, width: int, style: str) -> list[Text]:
    return [Text(f"{INDENT}{row}", style) for row in wrap(text, width - len(INDENT))]


def _hanging(
    mark: str, text: str, width: int, style: str, *, most: int | None = None
) -> list[Text]:
    """Lay out *text* behind *mark*, later rows below the first."""
    rows = wrap(text, width - len(mark))
    blank = " " * len(mark)
    kept = rows if most is None else rows[:most]
    lines = [Text(f"{blank if place else mark}{row}", style) for place, row in enumerate(kept)]
    if len(kept) < len(rows):
        lines.append(Text(f"{blank}… {len(rows) - len(kept)} rows more", "dim italic"))
    return lines
