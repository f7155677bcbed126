"""Whether the installed files are the ones that were released.

Our packages carry plain names, so another distribution with a package of the same
name, installed into the same environment, would overwrite ours without a word.
"""

import base64
import hashlib
import json
from importlib.metadata import Distribution, PackageNotFoundError, PackagePath, distribution
from pathlib import Path
from typing import Final

from worker.embedded.finding import Finding, fail, ok, warn

NAME: Final = "autolith"
_NAMED: Final = 3


def examine_installation(name: str = NAME) -> Finding:
    """Compare the installed files with the record of the wheel they came from."""
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return warn("files", "Autolith runs from a directory that is not installed")
    if _is_editable(installed):
        return ok("files", f"{installed.version}, editable: they are what you make them")
    changed = [str(path) for path in installed.files or () if _differs(path)]
    if not changed:
        return ok("files", f"{installed.version}, as released")
    return fail(
        "files",
        f"{len(changed)} differ from the release: {', '.join(changed[:_NAMED])}",
        "install Autolith again, in an environment of its own (pipx, uv tool)",
    )


def _is_editable(installed: Distribution) -> bool:
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _differs(path: PackagePath) -> bool:
    if path.hash is None:
        return False  # the record does not cover itself
    located = Path(str(path.locate()))
    if not located.is_file():
        return True
    digest = hashlib.new(path.hash.mode, located.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != path.hash.value
