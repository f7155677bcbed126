"""Publish the new content of a file: completely, or not at all.

The content is written beside the target, forced to disk, and then takes the
target's name in one step: by renaming over an existing file, by an exclusive link
for a new one.  Just before that step the target must still be what was observed.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from activities.errors import PublicationFailed, StaleRevision
from activities.workspace.paths import Place, entered
from activities.workspace.revision import MISSING, Snapshot, digest_of, snapshot

_TEMPORARY = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE_MODE = 0o666
"""Narrowed by the umask, as for any program."""
_PRIVATE_MODE = 0o600
"""Until the old bits are set, nobody reads what the old file may have kept private."""
_KEPT_BITS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
"""Read, write and execute are kept; set-id bits do not survive new content."""

_PUBLISHING = tuple(threading.Lock() for _ in range(64))
"""Two edits of one file in this worker check and publish one after the other."""


def publish(place: Place, content: bytes, *, base: str, key: str) -> tuple[str, ...]:
    """Give the file *place*, whose content had the digest *base*, the new *content*.

    *key* names the call: a repeated attempt removes what the lost one left behind.
    Returns sentences about what could not be kept.

    Raises:
        StaleRevision: the file is not *base* any more; it was left alone.
        PublicationFailed: the system refused.
    """
    temporary = f".autolith-{digest_of(f'{key} {place.identity}'.encode())[:16]}"
    with entered(place.parent, create=base == MISSING) as parent, _alone(place):
        try:
            _remove(temporary, parent)
            notes = _replace(place, parent, content, base, temporary)
            os.fsync(parent)
        except OSError as error:
            raise PublicationFailed(
                f"{place} could not be published: {error.strerror}; read it before another edit"
            ) from error
        if snapshot(place, parent).digest != digest_of(content):
            raise StaleRevision(f"{place} was changed by something else at once; read it again")
    return notes


def _replace(
    place: Place, parent: int, content: bytes, base: str, temporary: str
) -> tuple[str, ...]:
    present = snapshot(place, parent)
    _demand_base(place, present, base)
    try:
        notes = _write(temporary, parent, content, present.file)
        _demand_base(place, snapshot(place, parent), base)
        if base == MISSING:
            _link(place, temporary, parent)
        else:
            os.rename(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        _remove(temporary, parent)
    return notes


def _demand_base(place: Place, present: Snapshot, base: str) -> None:
    if present.digest != base:
        raise StaleRevision(f"{place} has changed since it was read")


def _write(
    temporary: str, parent: int, content: bytes, old: os.stat_result | None
) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    mode = _NEW_FILE_MODE if old is None else _PRIVATE_MODE
    descriptor = os.open(temporary, _TEMPORARY, mode, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if old is not None:
            notes = _keep_access(descriptor, old)
        os.fsync(descriptor)
    return notes


def _keep_access(descriptor: int, old: os.stat_result) -> tuple[str, ...]:
    """Give the new file the owner, group and permission bits of the old one."""
    notes: list[str] = []
    bits = old.st_mode & _KEPT_BITS
    if not _given(descriptor, old.st_uid, -1):
        notes.append(f"the file now belongs to user {os.geteuid()} instead of {old.st_uid}")
    if not _given(descriptor, -1, old.st_gid):
        # What one group was allowed must not become what another is.
        bits &= ~stat.S_IRWXG
        notes.append(f"group {old.st_gid} could not be kept and lost its permissions")
    os.fchmod(descriptor, bits)
    return tuple(notes)


def _given(descriptor: int, user: int, group: int) -> bool:
    try:
        os.fchown(descriptor, user, group)
    except PermissionError:
        return False
    return True


def _link(place: Place, temporary: str, parent: int) -> None:
    try:
        os.link(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    except FileExistsError as error:
        raise StaleRevision(f"{place} was created by something else") from error


def _remove(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    with _PUBLISHING[hash(place.identity) % len(_PUBLISHING)]:
        yield
