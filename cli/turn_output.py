"""What ``autolith run`` prints: the answer alone, or every event as a line of JSON."""

import json
from typing import Protocol

import click
from rich.console import Console
from rich.text import Text

from cli.failures import complain
from cli.terminal import rows
from cli.terminal.neutral import neutralise
from cli.terminal.transcript import Transcript
from workflows.contracts.conversation import Receipt
from workflows.contracts.event import Event, EventKind
from workflows.contracts.turn import TurnOutcome

LIVE_ONLY = frozenset(
    {EventKind.MESSAGE, EventKind.TEXT, EventKind.REASONING, EventKind.CALL_OUTPUT}
)
"""Kinds that only a screen with a live region can show."""


class TurnOutput(Protocol):
    """Takes a turn's receipt and events as they come; the last one is its end."""

    def receipt(self, conversation: str, receipt: Receipt) -> None:
        """Take the acknowledgement of the message."""

    def event(self, event: Event) -> None:
        """Take one event."""


class JsonLines:
    """One JSON object a line, each flushed, so that a reader sees it at once."""

    def receipt(self, conversation: str, receipt: Receipt) -> None:
        """Print the acknowledgement."""
        told = {"kind": "receipt", "conversation": conversation}
        self._print(told | receipt.model_dump(mode="json"))

    def event(self, event: Event) -> None:
        """Print one event."""
        self._print(event.model_dump(mode="json"))

    @staticmethod
    def _print(value: dict[str, object]) -> None:
        click.echo(json.dumps(value))


class PlainAnswer:
    """The answer on standard output; on a terminal, the way to it on standard error."""

    def __init__(self, errors: Console) -> None:
        self._errors = errors
        self._transcript = Transcript()
        self._answer = ""

    def receipt(self, conversation: str, receipt: Receipt) -> None:
        """Show which conversation this is."""
        turn = f" · turn {receipt.turn}" if receipt.turn else f" · {receipt.disposition.value}"
        self._show([Text(f"conversation {conversation}{turn}", "dim")])

    def event(self, event: Event) -> None:
        """Show progress, and print the answer at the end."""
        if event.kind is EventKind.TURN_ENDED:
            self._end(event)
        elif event.kind is EventKind.ANSWER:
            self._answer = event.body.get("text") or ""
        elif event.kind not in LIVE_ONLY and event.kind is not EventKind.TURN_STARTED:
            self._progress(event)

    def _progress(self, event: Event) -> None:
        """Show *event*; a text that something follows was not the answer."""
        width = self._errors.width
        if event.kind in (EventKind.CALL, EventKind.ATTEMPT_STARTED):
            self._show(rows.answer(self._answer, width) if self._answer.strip() else [])
            self._answer = ""
        self._show(self._transcript.take(event, width))
        if event.kind is EventKind.CALL:
            label = event.body.get("label") or ""
            self._show([rows.running("·", event.body["tool"], label, None, width)])

    def _end(self, event: Event) -> None:
        body = event.body
        if body["outcome"] == TurnOutcome.COMPLETED.value:
            click.echo(neutralise(self._answer))
            return
        why = ": ".join(str(part) for part in (body.get("failure"), body.get("message")) if part)
        complain(f"turn {event.turn} {body['outcome']}" + (f": {why}" if why else ""))

    def _show(self, shown: list[Text]) -> None:
        if self._errors.is_terminal:
            for row in shown:
                self._errors.print(row, soft_wrap=True)
