"""What a provider script says: replies, and when each is given.

A script is one property list::

    (:version 1
     :model "scripted"                      ; what /v1/models lists; optional
     :replies (REPLY ...)
     :default REPLY)                        ; when no reply fits; optional

For each request the first reply is given that is not used up and whose conditions
all hold.  A reply is used up after one request unless it says otherwise.  When no
reply fits, and there is no default, the request is refused with status 400.

A REPLY is a property list; everything is optional::

    (:when (:user "failing" :results-in-turn 0)
     :reasoning "The tests come first."
     :text "I run them."
     :calls ((:tool "shell.run" :arguments (:command "pytest -q")))
     :repeat t)

``:when`` conditions:

- ``:user TEXT``, ``:result TEXT``, ``:system TEXT``: the last user message, the last
  tool result or the system prompt contains it
- ``:model TEXT``: the request names exactly this model
- ``:results N``: how many tool results the request holds
- ``:results-in-turn N``: the same, since the last user message
- ``:request N``: the server's Nth request, from 1
- ``:attempt N``: the Nth time that this very request is sent, from 1

A number N may also be a range ``(LOW HIGH)``, where HIGH may be ``nil``: no bound.

What is said:

- ``:text TEXT``, ``:reasoning TEXT``
- ``:calls (CALL ...)``, each ``(:tool NAME :arguments VALUE :id TEXT)``.  ``:tool`` is a
  canonical name such as ``shell.run``; ``:name`` instead of it is sent as it stands.
  Without ``:id`` every call gets an id of its own, with ``""`` it gets none.
  ``:arguments`` is a property list, or a string that is sent as it stands, even if it
  is no JSON.
- ``:finish TEXT``: the finish reason, instead of ``tool_calls`` or ``stop``
- ``:usage (:input N :output N :cached N :reasoning N)``, or ``nil`` to leave it out;
  without it, an estimate is sent

In arguments ``t`` and ``nil`` are true and false, ``:null`` is null, ``()`` is an empty
array, ``(:object)`` an empty object, ``(:key VALUE ...)`` an object, another list an
array, and ``(:match "REGEX")`` what its first group, or all of it, matches in the
newest tool result that it matches; ``(:match "REGEX" :in user)`` looks at the last user
message.  A match that finds nothing refuses the request with status 400.

How it is said:

- ``:repeat t`` gives the reply to every request that it fits, ``:repeat N`` to N of them
- ``:delay SECONDS`` before each piece, ``:first-delay SECONDS`` before the answer
- ``:piece N``: characters per piece; 16 with a delay, else 8,192

``:fault FAULT`` lets it go wrong.  ``:after N`` is the number of pieces sent before, 0
if absent:

- ``(:kind cut :after N)`` ends the connection, ``(:kind reset :after N)`` resets it
- ``(:kind hang-up)`` closes it without any answer
- ``(:kind stall :after N :seconds S :comments S)`` is silent for S seconds, for ever if
  absent, except for a comment every S seconds
- ``(:kind error :after N :code TEXT :message TEXT)`` is an error inside the stream
- ``(:kind status :status N :headers (NAME TEXT ...) :message TEXT :body TEXT)`` refuses
  with an HTTP status; ``:body`` replaces the usual error body
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from activities.configuration.forms import Form

VERSION: Final = 1
PIECE_WITH_DELAY: Final = 16
PIECE_WITHOUT_DELAY: Final = 8_192


class FaultKind(StrEnum):
    """How a reply goes wrong."""

    CUT = "cut"
    RESET = "reset"
    HANG_UP = "hang-up"
    STALL = "stall"
    ERROR = "error"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Range:
    """A whole number between two bounds, inclusive; no upper one is None."""

    low: int
    high: int | None

    def holds(self, number: int) -> bool:
        """Whether *number* lies in the range."""
        return self.low <= number and (self.high is None or number <= self.high)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must hold of a request; None asks for nothing."""

    texts: dict[str, str] = field(default_factory=dict)
    """Substrings, by ``user``, ``result`` or ``system``."""
    model: str | None = None
    numbers: dict[str, Range] = field(default_factory=dict)
    """Ranges, by ``results``, ``results-in-turn``, ``request`` or ``attempt``."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One tool call; its arguments are a form until a request fills them in."""

    name: str
    """The name on the wire."""
    arguments: Form
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """How and where a reply goes wrong."""

    kind: FaultKind
    after: int = 0
    seconds: float | None = None
    comments: float | None = None
    status: int = 500
    headers: tuple[tuple[str, str], ...] = ()
    code: str = "server_error"
    message: str = "scripted fault"
    body: str | None = None


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """The token counts that a reply claims."""

    prompt: int
    completion: int
    cached: int
    reasoning: int


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a script."""

    place: str
    """Names the reply in messages and logs, such as ``reply 2``."""
    conditions: Conditions = field(default_factory=Conditions)
    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str | None = None
    usage: UsageCounts | None = None
    counts: bool = True
    """Whether usage is sent at all."""
    uses: int | None = 1
    """How many requests it answers; None is without end."""
    delay: float = 0.0
    first_delay: float = 0.0
    piece: int = PIECE_WITHOUT_DELAY
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script."""

    replies: tuple[Reply, ...] = ()
    default: Reply | None = None
    model: str = "scripted"
