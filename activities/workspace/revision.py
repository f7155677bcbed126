"""What a file contains at one moment, named by its digest.

Only regular files of at most 4 MiB are observed whole.  A file that changes while
it is read is refused: half of one content and half of another is nobody's revision.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from activities.errors import AccessDenied, MissingResource, OperationUnsupported, StaleRevision
from activities.workspace.paths import Place, refusal, status
from workflows.policy.resources import FILE_BYTES

MISSING = "missing"
"""The digest of a file that is not there."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Snapshot:
    """The whole content of one file, or its absence."""

    content: bytes | None
    file: os.stat_result | None = None
    """Mode and owner of the file that was read."""

    @property
    def digest(self) -> str:
        """The name of this content."""
        return MISSING if self.content is None else digest_of(self.content)


def digest_of(content: bytes) -> str:
    """Return the name of *content*."""
    return hashlib.sha256(content).hexdigest()


def snapshot(place: Place, parent: int) -> Snapshot:
    """Return what the file *place* in the open directory *parent* contains now.

    Raises:
        AccessDenied: it is no regular file, or may not be read.
        OperationUnsupported: it is larger than 4 MiB.
        StaleRevision: it changed meanwhile.
    """
    if status(place, parent) is None:
        return Snapshot(None)
    with opened(place, parent) as descriptor:
        return read_whole(place, descriptor)


@contextmanager
def opened(place: Place, parent: int) -> Iterator[int]:
    """Lend a descriptor of the regular file *place* in the open directory *parent*.

    Raises:
        AccessDenied: it is no regular file, or may not be read.
        MissingResource: it is not there.
    """
    # Opening a device may do something, so its kind is asked first and then again.
    _demand_regular(place, status(place, parent))
    try:
        descriptor = os.open(place.name, _READ, dir_fd=parent)
        try:
            _demand_regular(place, os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refusal(place, error) from error


def read_whole(place: Place, descriptor: int) -> Snapshot:
    """Return the content of an open file, if it stayed the same while it was read."""
    before = os.fstat(descriptor)
    if before.st_size > FILE_BYTES:
        raise OperationUnsupported(f"{place} is larger than {FILE_BYTES} bytes")
    content = _content(descriptor)
    # A write sets the time when it begins, so only a second look sees one that goes on.
    is_same = len(content) == before.st_size and content == _content(descriptor)
    if not is_same or _signs(before) != _signs(os.fstat(descriptor)):
        raise StaleRevision(f"{place} changed while it was read; read it again")
    return Snapshot(content, before)


def _content(descriptor: int) -> bytes:
    content = bytearray()
    while chunk := os.pread(descriptor, FILE_BYTES + 1 - len(content), len(content)):
        content += chunk
    return bytes(content)


def _signs(file: os.stat_result) -> tuple[int, int, int]:
    return file.st_size, file.st_mtime_ns, file.st_ctime_ns


def _demand_regular(place: Place, file: os.stat_result | None) -> None:
    if file is None:
        raise MissingResource(f"{place} does not exist")
    if not stat.S_ISREG(file.st_mode):
        raise AccessDenied(f"{place} is not a regular file")
