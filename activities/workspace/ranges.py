"""Sets of line numbers as sorted, inclusive, separate ranges."""

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the union of *ranges*; an empty range (last before first) adds nothing."""
    union: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if last < first:
            continue
        if union and first <= union[-1][1] + 1:
            union[-1] = (union[-1][0], max(union[-1][1], last))
        else:
            union.append((first, last))
    return tuple(union)


def covers(ranges: Ranges, first: int, last: int) -> bool:
    """Tell whether every line from *first* to *last* is in *ranges*."""
    return any(low <= first and last <= high for low, high in ranges)


def within(ranges: Ranges, first: int, last: int) -> Ranges:
    """Return the part of *ranges* between *first* and *last*."""
    return merged((max(low, first), min(high, last)) for low, high in ranges)


def moved(ranges: Ranges, distance: int) -> Ranges:
    """Return *ranges* with *distance* added to each line number."""
    return tuple((low + distance, high + distance) for low, high in ranges)


def spelled(ranges: Ranges) -> str:
    """Return *ranges* for a sentence: ``1-40, 52``."""
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
