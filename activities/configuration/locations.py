"""Where Autolith keeps its files: four private roots, after the XDG rules.

Every file of every part lies below one of them, so two accounts, or two sets of
roots of one account, never meet.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.errors import ConfigurationError, UnwritableRootError

PRIVATE: Final = 0o700
STORE_VARIABLE: Final = "AUTOLITH_STORE"
HOST_ID_BYTES: Final = 6

_DEFAULTS: Final = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


@dataclass(frozen=True, slots=True)
class Roots:
    """The four directories; ``logs`` is where every process of ours writes its log."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> "Roots":
        """Return the roots that *environ* names; a relative one is ignored, as XDG says.

        Raises:
            ConfigurationError: a root is needed below the home directory, and there is none.
        """
        return cls(**{name: _root(environ, *default) for name, default in _DEFAULTS.items()})

    def environment(self) -> dict[str, str]:
        """Return the variables that lead another process to the same roots."""
        return {_DEFAULTS[name][0]: str(getattr(self, name).parent) for name in _DEFAULTS}

    @property
    def logs(self) -> Path:
        """The directory of the log files."""
        return self.state / "logs"

    def create(self) -> None:
        """Create what is missing, readable by the owner only.

        The configuration root may be somebody's tracked dotfiles: where it exists, its
        mode is its owner's business.  The others hold what was said, and are closed.

        Raises:
            UnwritableRootError: a root cannot be created or written, or is somebody else's.
        """
        _create(self.config)
        for root in (self.data, self.state, self.cache, self.logs):
            _create(root)
            _close(root)


def store_url(data: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return where the store is: ``AUTOLITH_STORE``, or a file in the data root."""
    return environ.get(STORE_VARIABLE) or f"sqlite:///{data / 'store.db'}"


def host_id(state: Path) -> str:
    """Return this machine's name for this state root, chosen at random once.

    Raises:
        UnwritableRootError: it can neither be read nor written.
    """
    return kept_secret(state / "host-id", size=HOST_ID_BYTES)


def kept_secret(path: Path, *, size: int) -> str:
    """Return the *size* random bytes, in hexadecimal, that the first caller put at *path*.

    Raises:
        UnwritableRootError: it can neither be read nor written.
    """
    try:
        if not path.exists():
            _place_once(path, secrets.token_hex(size))
        kept = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnwritableRootError(f"{path}: cannot be kept: {_reason(error)}") from error
    if len(kept) != 2 * size or not set(kept) <= set("0123456789abcdef"):
        raise UnwritableRootError(f"{path}: is damaged; remove it to have a new one made")
    return kept


def _place_once(path: Path, content: str) -> None:
    """Put *content* at *path* unless something is there: whole, or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(
            os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w"
        ) as file:
            file.write(f"{content}\n")
        try:
            os.link(temporary, path)
        except FileExistsError:
            return  # another process was faster, and its value holds
    finally:
        temporary.unlink(missing_ok=True)


def _root(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    named = Path(environ.get(variable, ""))
    if named.is_absolute():
        return named / "autolith"
    home = Path(environ.get("HOME", ""))
    if not home.is_absolute():
        raise ConfigurationError(f"HOME is not an absolute path; set it, or set {variable}")
    return home / below_home / "autolith"


def _create(root: Path) -> None:
    try:
        root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        writable = os.access(root, os.W_OK | os.X_OK)
    except OSError as error:
        raise UnwritableRootError(f"{root}: cannot be created: {_reason(error)}") from error
    if not writable:
        raise UnwritableRootError(f"{root}: cannot be written; check who owns it")


def _close(root: Path) -> None:
    status = root.stat()
    if status.st_uid != os.geteuid():
        raise UnwritableRootError(
            f"{root}: belongs to another account (uid {status.st_uid}); "
            "run Autolith as that account, or set other XDG directories"
        )
    if status.st_mode & 0o777 != PRIVATE:
        root.chmod(PRIVATE)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
