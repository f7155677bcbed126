"""What a look at a place finds: a file, a large file, a directory, or nothing."""

import os
import stat
from dataclasses import dataclass

from activities.errors import MissingResource
from activities.workspace.directory import Listing, listing
from activities.workspace.paths import Place, entered, status
from activities.workspace.revision import Snapshot, opened, read_whole
from activities.workspace.window import Window, large_window
from workflows.policy.resources import DEFAULT_LINES, DIRECTORY_ENTRIES, FILE_BYTES


@dataclass(frozen=True)
class LargeFile:
    """A file that is only shown by windows."""

    size: int
    window: Window


Sight = Snapshot | LargeFile | Listing


def look(place: Place, first: int, count: int | None, budget: int) -> Sight:
    """Return what is at *place*; *first* and *count* select from what may be long.

    Raises:
        AccessDenied: it is neither a regular file nor a directory, or may not be read.
        StaleRevision: it changed while it was read.
    """
    entries = min(count or DIRECTORY_ENTRIES, DIRECTORY_ENTRIES)
    if not place.parts:
        return listing(place, first, entries)
    try:
        with entered(place.parent) as parent:
            found = status(place, parent)
            if found is None:
                return Snapshot(None)
            if not stat.S_ISDIR(found.st_mode):
                with opened(place, parent) as descriptor:
                    size = os.fstat(descriptor).st_size
                    if size <= FILE_BYTES:
                        return read_whole(place, descriptor)
                    window = large_window(descriptor, first, count or DEFAULT_LINES, budget)
                    return LargeFile(size, window)
    except MissingResource:
        return Snapshot(None)
    return listing(place, first, entries)
