"""Large bytes, named by what they contain."""

import hashlib
import os
import tempfile
from pathlib import Path

from activities.errors import CorruptObjectError, StoreUnavailable


class ObjectDirectory:
    """A content-addressed directory.  Objects are private, complete and never change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, content: bytes) -> str:
        """Keep *content* and return its name, the SHA-256 in hexadecimal.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        if path.exists():
            return name
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError as error:
            raise StoreUnavailable(f"An object cannot be stored: {error}") from error
        return name

    def get(self, name: str) -> bytes:
        """Return the content of *name*.

        Raises:
            CorruptObjectError: it is missing or is not what its name promises.
        """
        try:
            content = self._path(name).read_bytes()
        except OSError as error:
            raise CorruptObjectError(f"Object {name} cannot be read: {error}") from error
        if hashlib.sha256(content).hexdigest() != name:
            raise CorruptObjectError(f"Object {name} is damaged")
        return content

    def _path(self, name: str) -> Path:
        return self.root / name[:2] / name
