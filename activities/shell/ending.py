"""What a finished command says: a bounded text for the model, the figures as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.shell.captures import Capture
from activities.shell.environment import redact
from activities.shell.outcome import Outcome
from activities.shell.preview import preview

HOW_TO_READ = "Read the rest with resource.read (byte-offset, byte-count or query)"


@dataclass(frozen=True)
class Ending:
    """The end of one command."""

    outcome: Outcome
    text: str
    details: dict[str, Any]


def describe(outcome: Outcome, capture: Capture, root: Path) -> Ending:
    """Put together what is said about a command that has ended.

    What is missing from the preview is told behind it, and again in the details, so
    that no second, smaller window can cut the notice away (field case A-66).
    """
    readers = {name: capture.reader(root, name) for name in outcome.streams}
    shown = preview(readers)
    figures = describe_streams(capture, root)
    notes = _notes(outcome, figures, truncated=shown.omitted > 0)
    text = "\n".join([outcome.summary, shown.text.rstrip("\n") or "(no output)", *notes])
    details = {
        "exit": outcome.status if outcome.status is None or outcome.status >= 0 else None,
        "signal": -outcome.status if outcome.status is not None and outcome.status < 0 else None,
        "timed_out": outcome.timed_out,
        "cancelled": outcome.cancelled,
        "left": outcome.left,
        "survivors": outcome.survivors,
        "truncated": shown.omitted > 0,
        "cpu_microseconds": outcome.cpu_microseconds,
        "real_microseconds": outcome.real_microseconds,
        "captures": figures,
    }
    return Ending(outcome, redact(text), details)


def describe_streams(capture: Capture, root: Path) -> list[dict[str, Any]]:
    """Return reference and counts of each stream."""
    described = []
    for name in capture.streams:
        reader = capture.reader(root, name)
        exists = reader.path.exists()
        observed = reader.figures().observed if exists else 0
        retained = reader.retained_bytes if exists else 0
        described.append(
            {
                "uri": capture.uri(name),
                "stream": name,
                "observed": observed,
                "retained": retained,
                "complete": reader.final is not None and retained == observed,
            }
        )
    return described


def _notes(outcome: Outcome, figures: list[dict[str, Any]], *, truncated: bool) -> Iterator[str]:
    if truncated:
        for stream in figures:
            yield f"{stream['uri']}: {counts(stream)}."
        yield f"{HOW_TO_READ}."
    for name, counted in outcome.streams.items():
        if counted.failure:
            lost = counted.observed - counted.written
            yield f"The last {lost:,} bytes of {name} were not kept: {counted.failure}."
    if outcome.left:
        yield (
            f"It left {outcome.left} processes in the background, which were ended; "
            "start a long-lived process with async."
        )
    if outcome.survivors:
        yield f"{outcome.survivors} of its processes could not be ended."


def counts(stream: Mapping[str, Any]) -> str:
    """Say how much of a stream was observed and retained."""
    completeness = "complete" if stream["complete"] else "incomplete"
    return (
        f"{stream['observed']:,} bytes observed, {stream['retained']:,} retained, {completeness}"
    )
