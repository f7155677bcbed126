"""A directory as a sorted list, however many entries it has."""

import heapq
import itertools
import os
from dataclasses import dataclass

from activities.workspace.names import encoded, readable
from activities.workspace.paths import Place, entered, refusal


@dataclass(frozen=True)
class Listing:
    """A part of a directory's entries, one row each."""

    rows: tuple[str, ...]
    total: int


def listing(place: Place, first: int, count: int) -> Listing:
    """Return up to *count* entries of *place* from entry *first* (from 1) on, sorted.

    A directory ends in "/" and a link in "@".  A name that is not its own URI brings one.
    """
    counter = itertools.count()
    with entered(place) as descriptor:
        try:
            with os.scandir(descriptor) as entries:
                # Only what may be shown is kept: a directory can have a million entries.
                names = (
                    (entry.name, _mark(entry)) for entry, _ in zip(entries, counter, strict=False)
                )
                chosen = heapq.nsmallest(first - 1 + count, names)
        except OSError as error:
            raise refusal(place, error) from error
    rows = (_row(place, name, mark) for name, mark in chosen[first - 1 :])
    return Listing(tuple(rows), next(counter))


def _mark(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return "@"
    return "/" if entry.is_dir(follow_symlinks=False) else ""


def _row(place: Place, name: str, mark: str) -> str:
    if encoded(name) == name:
        return name + mark
    return f"{readable(name)}{mark} ({Place(place.root, (*place.parts, name)).uri})"
