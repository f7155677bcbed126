"""What the scripted model says, written in Python.

A reply is chosen by how many tool results the request holds, never by how often it
was asked, so that a request which is sent again gets the same reply again.
"""

import json
from dataclasses import replace

from activities.configuration.forms import Form, Keyword
from activities.provider.scripted.script import (
    Conditions,
    Fault,
    FaultKind,
    Range,
    Reply,
    Script,
    ScriptedCall,
)
from activities.provider.tool_names import wire_name

WORDS = tuple(f"word{number:02d} " for number in range(12))
TEXT = "".join(WORDS)
"""An answer in pieces of one word."""
PIECE = len(WORDS[0])
SHOWN = 3
PARTIAL = "".join(WORDS[:SHOWN])
"""What is there of it after three pieces."""
FOR_EVER = 86_400.0
HEAD_START = 0.5
"""The first delay of a reply before which a test has to get something done.

The model answers in the event loop of the test.  Whoever waits there for the request
wakes long before this timer, and what he does then without awaiting comes first.
"""


def script(*replies: Reply) -> Script:
    """Return the script of *replies*, each of which counts its own uses."""
    named = (replace(reply, place=f"reply {place}") for place, reply in enumerate(replies, 1))
    return Script(tuple(named))


def reply(
    text: str = "",
    *calls: ScriptedCall,
    results: int = 0,
    user: str = "",
    model: str | None = None,
) -> Reply:
    """Return a complete reply to every request that holds so many *results*."""
    texts = {"user": user} if user else {}
    conditions = Conditions(texts, model, {"results": Range(results, results)})
    return Reply("", conditions, text, calls=calls, uses=None, piece=PIECE)


def stalls(whole: Reply, after: int = SHOWN) -> Reply:
    """Return the beginning of a reply that never ends, given once."""
    return replace(whole, uses=1, fault=Fault(FaultKind.STALL, after=after))


def silent(whole: Reply) -> Reply:
    """Return an answer of which not even the head ever comes, given once."""
    return replace(whole, uses=1, first_delay=FOR_EVER)


def slow(whole: Reply, seconds: float) -> Reply:
    """Return a reply that takes about *seconds*."""
    pieces = max(1, len(whole.text) // PIECE)
    return replace(whole, delay=seconds / pieces)


def call(tool: str, **arguments: object) -> ScriptedCall:
    """Return one call; underscores in the names of *arguments* stand for hyphens."""
    return ScriptedCall(wire_name(tool), json.dumps(_hyphened(arguments)))


def shell(command: str, **arguments: object) -> ScriptedCall:
    """Return a call of ``shell.run`` that may take its time on a slow machine."""
    return call("shell.run", **{"command": command, "timeout_seconds": 600, **arguments})


def job(command: str) -> ScriptedCall:
    """Return a call that leaves *command* behind as a job."""
    return call("shell.run", **{"command": command, "async": True})


def edit(uri: str, *operations: dict[str, str | int]) -> ScriptedCall:
    """Return a call of ``resource.edit`` on the revision that the newest result names."""
    revision = (Keyword("match"), "R[0-9A-Za-z]{16}")
    arguments: dict[str, Form] = {
        "uri": uri,
        "base-revision": revision,
        "operations": tuple(_plist(operation) for operation in operations),
    }
    return ScriptedCall(wire_name("resource.edit"), _plist(arguments))


def gated(label: str) -> str:
    """Return a command that tells when it starts and ends only when ``go-LABEL`` is there."""
    return (
        f"echo {label} started >> effects; echo half of {label}; "
        f"until [ -e go-{label} ]; do sleep 0.05; done; "
        f"echo {label} ended >> effects; echo all of {label}"
    )


def _hyphened(arguments: dict[str, object]) -> dict[str, object]:
    return {name.replace("_", "-"): value for name, value in arguments.items()}


def _plist(values: "dict[str, Form] | dict[str, str | int]") -> Form:
    return tuple(part for name, value in values.items() for part in (Keyword(name), value))
