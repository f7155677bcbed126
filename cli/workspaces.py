"""The directory that a conversation works in."""

import hashlib
from pathlib import Path

from activities.configuration.locations import Roots, kept_secret
from activities.errors import ConfigurationError

KEY_FILE = "workspace-digest.key"
KEY_BYTES = 32
DIGEST_BYTES = 12


def workspace_at(named: str | None) -> Path:
    """Return the real path of the directory *named*, or of the current one.

    Raises:
        ConfigurationError: it is no directory.
    """
    try:
        path = Path(named or ".").resolve(strict=True)
    except OSError as error:
        raise ConfigurationError(
            f"{named or 'The current directory'}: {error.strerror}"
        ) from error
    if not path.is_dir():
        raise ConfigurationError(f"{path}: is not a directory")
    return path


def digest_of(workspace: str, roots: Roots) -> str:
    """Return the keyed digest of *workspace*, by which the engine can find it again.

    Search attributes are readable for whoever reaches the server; paths are not.
    """
    key = bytes.fromhex(kept_secret(roots.state / KEY_FILE, size=KEY_BYTES))
    digest = hashlib.blake2b(workspace.encode(), key=key, digest_size=DIGEST_BYTES)
    return digest.hexdigest()
