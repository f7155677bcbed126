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

from activities.errors import AccessDenied, OperationUnsupported, StaleRevision
from activities.workspace.paths import Place, refusal
from workflows.policy.resources import FILE_BYTES

MISSING = "missing"
"""The digest of a file that is not there."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Snapshot:
    """The whole content of one file, or its absence."""

    content: bytes | None
    status: os.stat_result | None = None

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
    try:
        os.stat(place.name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
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
    try:
        # Opening a device may do something, so its kind is asked first and then again.
        _demand_regular(place, os.stat(place.name, dir_fd=parent, follow_symlinks=False))
        descriptor = os.open(place.name, _READ, dir_fd=parent)
    except OSError as error:
        raise refusal(place, error) from error
    try:
        _demand_regular(place, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def read_whole(place: Place, descriptor: int) -> Snapshot:
    """Return the content of an open file, if it stayed the same while it was read."""
    before = os.fstat(descriptor)
    if before.st_size > FILE_BYTES:
        raise OperationUnsupported(f"{place} is larger than {FILE_BYTES} bytes")
    content = bytearray()
    while chunk := os.read(descriptor, FILE_BYTES + 1 - len(content)):
        content += chunk
    if len(content) != before.st_size or _signs(before) != _signs(os.fstat(descriptor)):
        raise StaleRevision(f"{place} changed while it was read; read it again")
    return Snapshot(bytes(content), before)


def _signs(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _demand_regular(place: Place, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise AccessDenied(f"{place} is not a regular file")
