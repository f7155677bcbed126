"""Retained command output (spec: Retained command output)."""

from collections.abc import Sequence
from datetime import timedelta

from workflows.contracts.base import Contract

STREAM_BYTES = 64 * 1024 * 1024
"""Defaults are 64 MiB per stream,"""
RETAINED_BYTES = 1024 * 1024 * 1024
"""1 GiB of reserved capture capacity"""
RETAINED_COUNT = 256
"""and 256 retained artifacts."""
PRUNEABLE_AFTER = timedelta(days=7)
"""Eligible completed captures become pruneable after seven days."""
READ_BYTES = 4096
"""byte-count: default and maximum 4096 bytes."""
SEARCH_SCAN_BYTES = 1024 * 1024
"""Each search scans at most 1 MiB"""
SEARCH_EXCERPTS = 20
"""and returns at most 20 excerpts."""
SEARCH_QUERY_BYTES = 1024
"""Longer than any line that somebody looks for; keeps excerpts and overlaps small."""
EXCERPT_BYTES = 120
"""How much is shown around a match, on either side."""

SMALLEST_STREAM_BYTES = 1024 * 1024
"""Under pressure a capture gets less than its due, but a command without room for an
error message is better refused."""
PREVIEW_BYTES = 6_600
"""The inline preview fits a result of 8,000 characters with all that is said about it."""
PREVIEW_END_SHARE = 0.75
"""The preview samples the beginning and end, with most space reserved for the end;"""
PREVIEW_STDERR_SHARE = 2 / 3
"""with separate captures more space goes to stderr."""


class CaptureLimits(Contract):
    """The limits that trusted configuration may adjust."""

    stream_bytes: int = STREAM_BYTES
    retained_bytes: int = RETAINED_BYTES
    retained_count: int = RETAINED_COUNT
    pruneable_after: timedelta = PRUNEABLE_AFTER


class HeldCapture(Contract):
    """A capture that takes up room."""

    execution: str
    ended: float | None
    """None while its command runs."""
    reserved: int
    delivered: bool
    """Whether the conversation has been told how the command ended."""

    @property
    def is_protected(self) -> bool:
        """Active captures and undelivered completion evidence are protected."""
        return self.ended is None or not self.delivered


class Allocation(Contract):
    """What a new capture costs the old ones."""

    pruned: tuple[str, ...]
    stream_bytes: int
    """How large each stream of the new capture may grow; 0 when there is no room."""


def allocate(
    held: Sequence[HeldCapture], *, streams: int, now: float, limits: CaptureLimits
) -> Allocation:
    """Find room for a capture of *streams*, oldest eligible ones first.

    "Eligible completed captures become pruneable after seven days or under capacity
    pressure, on the next allocation."
    """
    kept = sorted(held, key=lambda capture: capture.ended or now)
    pruned: list[str] = []
    for capture in tuple(kept):
        if capture.is_protected:
            continue
        if _is_old(capture, now, limits) or not _fits(kept, streams, limits):
            kept.remove(capture)
            pruned.append(capture.execution)
    return Allocation(pruned=tuple(pruned), stream_bytes=_share(kept, streams, limits))


def _is_old(capture: HeldCapture, now: float, limits: CaptureLimits) -> bool:
    age = now - (capture.ended if capture.ended is not None else now)
    return age > limits.pruneable_after.total_seconds()


def _fits(kept: Sequence[HeldCapture], streams: int, limits: CaptureLimits) -> bool:
    return _share(kept, streams, limits) == limits.stream_bytes


def _share(kept: Sequence[HeldCapture], streams: int, limits: CaptureLimits) -> int:
    room = limits.retained_bytes - sum(capture.reserved for capture in kept)
    share = min(limits.stream_bytes, room // streams)
    smallest = min(SMALLEST_STREAM_BYTES, limits.stream_bytes)
    return share if len(kept) < limits.retained_count and share >= smallest else 0
