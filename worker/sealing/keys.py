"""The sealing keys: one private file, one key a line, never in any output.

The last line seals; every line opens, so that a rotated key still reads what it
sealed.  To rotate, append 64 hexadecimal digits and restart the worker.  Whoever
loses the file loses every open conversation, so it is written once, durably.
"""

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from activities.errors import KeyFileError

KEY_FILE: Final = "sealing.key"
KEY_BYTES: Final = 32
"""AES-256."""
LARGEST_FILE: Final = 64 * 1024
_LINE = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")


@dataclass(frozen=True, slots=True, repr=False)
class KeyRing:
    """Keys by id; *current* names the one that seals."""

    ciphers: Mapping[bytes, AESGCM]
    current: bytes

    @classmethod
    def of(cls, *keys: bytes) -> "KeyRing":
        """Return the ring of *keys*, oldest first."""
        ciphers = {_id_of(key): AESGCM(key) for key in keys}
        return cls(ciphers, _id_of(keys[-1]))


def open_key_ring(state_root: Path) -> KeyRing:
    """Return the keys of *state_root*, having made the first one if there is no file.

    Raises:
        KeyFileError: the file cannot be made, or is not what it has to be.
    """
    path = state_root / KEY_FILE
    try:
        if not (path.exists() or path.is_symlink()):
            _create(path)
    except OSError as error:
        raise KeyFileError(f"{path}: cannot be created: {error.strerror}") from error
    return read_key_ring(state_root)


def read_key_ring(state_root: Path) -> KeyRing:
    """Return the keys of *state_root*.

    Raises:
        KeyFileError: the file is missing, damaged, or readable by somebody else.
    """
    path = state_root / KEY_FILE
    try:
        text = _read_private(path)
    except FileNotFoundError as error:
        raise KeyFileError(f"{path}: there is no sealing key; run 'autolith up'") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise KeyFileError(f"{path}: the sealing key cannot be read: {reason}") from error
    lines = text.split()
    if not lines or not all(_LINE.fullmatch(line) for line in lines):
        raise KeyFileError(f"{path}: expected {2 * KEY_BYTES} hexadecimal digits on each line")
    return KeyRing.of(*map(bytes.fromhex, lines))


def _read_private(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="ascii") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{path}: the sealing key is not a regular file")
        if status.st_uid != os.geteuid():
            raise KeyFileError(f"{path}: belongs to another account (uid {status.st_uid})")
        if status.st_mode & 0o077:
            raise KeyFileError(f"{path}: others may read the sealing key; run chmod 600 on it")
        if status.st_size > LARGEST_FILE:
            raise KeyFileError(f"{path}: too large for a key file ({status.st_size} bytes)")
        return file.read()


def _create(path: Path) -> None:
    """Put a new key at *path*, whole and durable, unless somebody was faster."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_durably(temporary, f"{secrets.token_hex(KEY_BYTES)}\n")
        try:
            os.link(temporary, path)
        except FileExistsError:
            return  # another process was faster, and its key holds
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _write_durably(path: Path, content: str) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _id_of(key: bytes) -> bytes:
    return hashlib.sha256(b"autolith key id" + key).hexdigest()[:8].encode()
