"""Read a provider script; every mistake is named with its file and its reply."""

import re
from dataclasses import dataclass
from pathlib import Path

from activities.configuration.forms import NIL, Form, T, parse_form, read_form
from activities.configuration.properties import (
    Properties,
    as_integer,
    as_list,
    as_name,
    as_number,
    as_properties,
    as_text,
    properties,
)
from activities.errors import ConfigurationError, ScriptError
from activities.provider.scripted.script import (
    PIECE_WITH_DELAY,
    PIECE_WITHOUT_DELAY,
    VERSION,
    Conditions,
    Fault,
    FaultKind,
    Range,
    Reply,
    Script,
    ScriptedCall,
    UsageCounts,
)
from activities.provider.scripted.values import check_value
from activities.provider.tool_names import wire_name

TEXT_CONDITIONS = ("user", "result", "system")
NUMBER_CONDITIONS = ("results", "results-in-turn", "request", "attempt")
ALWAYS = ("kind", "after")
FAULT_KEYS = {
    FaultKind.CUT: ALWAYS,
    FaultKind.RESET: ALWAYS,
    FaultKind.HANG_UP: ("kind",),
    FaultKind.STALL: (*ALWAYS, "seconds", "comments"),
    FaultKind.ERROR: (*ALWAYS, "code", "message"),
    FaultKind.STATUS: ("kind", "status", "headers", "code", "message", "body"),
}
FRAMING_HEADERS = ("content-length", "transfer-encoding", "connection")
"""The server's own business; a script that sets them would break the connection."""
_HEADER = re.compile(r"[A-Za-z0-9-]+", re.ASCII)


def read_script(path: Path) -> Script:
    """Return the script in *path*.

    Raises:
        ScriptError: it cannot be read, is no form or is no script; the place is named.
    """
    try:
        return _script(read_form(path), path)
    except FileNotFoundError as error:
        raise ScriptError(f"{path}: there is no such script") from error
    except ConfigurationError as error:
        raise ScriptError(str(error)) from error


def parse_script(text: str) -> Script:
    """Return the script that *text* holds.

    Raises:
        ScriptError: it is no form or no script; the place is named.
    """
    try:
        return _script(parse_form(text), None)
    except ConfigurationError as error:
        raise ScriptError(str(error)) from error


def _script(form: Form, path: Path | None) -> Script:
    values = properties(form, path=path).only("version", "model", "replies", "default")
    if as_integer(values, "version") != VERSION:
        raise values.fault("version", f"must be {VERSION}")
    replies = as_list(values, "replies", ())
    default = values.get("default")
    return Script(
        replies=tuple(
            _ReplyReader(f"reply {number}", path).read(reply)
            for number, reply in enumerate(replies, start=1)
        ),
        default=None if default is None else _ReplyReader("default", path).read(default),
        model=as_text(values, "model", "scripted"),
    )


@dataclass(frozen=True)
class _ReplyReader:
    """Reads one reply and puts its place before every complaint."""

    place: str
    path: Path | None

    def read(self, form: Form) -> Reply:
        try:
            return _reply(form, self.place)
        except ConfigurationError as error:
            file = f"{self.path}: " if self.path else ""
            raise ScriptError(f"{file}{self.place}: {error}") from error


def _reply(form: Form, place: str) -> Reply:
    values = properties(form).only(
        "when", "text", "reasoning", "calls", "finish", "usage",
        "repeat", "delay", "first-delay", "piece", "fault",
    )  # fmt: skip
    delay = _seconds(values, "delay")
    piece = as_integer(values, "piece", PIECE_WITH_DELAY if delay else PIECE_WITHOUT_DELAY)
    if piece < 1:
        raise values.fault("piece", "must be at least 1")
    return Reply(
        place=place,
        conditions=_conditions(as_properties(values, "when")),
        text=as_text(values, "text", ""),
        reasoning=as_text(values, "reasoning", ""),
        calls=tuple(_call(call) for call in as_list(values, "calls", ())),
        finish=as_text(values, "finish", None),
        usage=_usage(values),
        counts=values.get("usage") != NIL,
        uses=_uses(values),
        delay=delay,
        first_delay=_seconds(values, "first-delay"),
        piece=piece,
        fault=_fault(as_properties(values, "fault")) if "fault" in values else None,
    )


def _conditions(values: Properties) -> Conditions:
    values.only(*TEXT_CONDITIONS, *NUMBER_CONDITIONS, "model")
    return Conditions(
        texts={key: as_text(values, key) for key in TEXT_CONDITIONS if key in values},
        model=as_text(values, "model", None),
        numbers={key: _range(values, key) for key in NUMBER_CONDITIONS if key in values},
    )


def _range(values: Properties, key: str) -> Range:
    match values[key]:
        case int(number):
            return Range(number, number)
        case (int(low), int(high)):
            return Range(low, high)
        case (int(low), high) if high == NIL:
            return Range(low, None)
    raise values.fault(key, "must be a number or a range such as (0 9) or (10 nil)")


def _call(form: Form) -> ScriptedCall:
    values = properties(form).only("tool", "name", "arguments", "id")
    if ("tool" in values) == ("name" in values):
        raise values.fault("tool", "or :name must be given, and only one of them")
    arguments = values.get("arguments", ())
    if not isinstance(arguments, str):
        arguments = as_list(values, "arguments", ())
        for value in properties(arguments).values():
            check_value(value)
    name = wire_name(as_text(values, "tool")) if "tool" in values else as_text(values, "name")
    return ScriptedCall(name, arguments, as_text(values, "id", None))


def _usage(values: Properties) -> UsageCounts | None:
    if "usage" not in values or values["usage"] == NIL:
        return None
    counts = as_properties(values, "usage").only("input", "output", "cached", "reasoning")
    return UsageCounts(
        prompt=as_integer(counts, "input", 0),
        completion=as_integer(counts, "output", 0),
        cached=as_integer(counts, "cached", 0),
        reasoning=as_integer(counts, "reasoning", 0),
    )


def _uses(values: Properties) -> int | None:
    repeat = values.get("repeat", 1)
    if repeat == T:
        return None
    if not isinstance(repeat, int) or repeat < 1:
        raise values.fault("repeat", "must be t or a number from 1")
    return repeat


def _fault(values: Properties) -> Fault:
    name = as_name(values, "kind")
    if name not in list(FaultKind):
        raise values.fault("kind", f"must be one of {', '.join(FaultKind)}")
    kind = FaultKind(name)
    values.only(*FAULT_KEYS[kind])
    status = as_integer(values, "status", 500)
    if not 400 <= status <= 599:  # noqa: PLR2004 -- the bounds of HTTP's error statuses
        raise values.fault("status", "must be an HTTP error status")
    return Fault(
        kind=kind,
        after=as_integer(values, "after", 0),
        seconds=_seconds(values, "seconds") if "seconds" in values else None,
        comments=_seconds(values, "comments") if "comments" in values else None,
        status=status,
        headers=_headers(values),
        code=as_text(values, "code", "server_error"),
        message=as_text(values, "message", "scripted fault"),
        body=as_text(values, "body", None),
    )


def _headers(values: Properties) -> tuple[tuple[str, str], ...]:
    flat = [element for element in as_list(values, "headers", ()) if isinstance(element, str)]
    pairs = tuple(zip(flat[::2], flat[1::2], strict=False))
    complete = len(flat) == len(as_list(values, "headers", ())) and len(flat) % 2 == 0
    if not complete or not all(
        _HEADER.fullmatch(name)
        and name.lower() not in FRAMING_HEADERS
        and value.isprintable()
        and value.isascii()
        for name, value in pairs
    ):
        raise values.fault("headers", 'must be names and values such as ("retry-after" "3")')
    return tuple((name.lower(), value) for name, value in pairs)


def _seconds(values: Properties, key: str) -> float:
    seconds = as_number(values, key, 0.0)
    if seconds < 0:
        raise values.fault(key, "must not be negative")
    return seconds
