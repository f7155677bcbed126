"""What the machine has to offer: programs, directories, space, variables."""

import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from activities.configuration.locations import Roots, store_url
from activities.errors import CommandFailed, MissingBinaryError, StoreError, UnwritableRootError
from activities.shell import sandbox
from activities.store.database import Database
from activities.workspace.ripgrep import find_ripgrep
from worker.embedded.binary import find_binary, identify
from worker.embedded.environment import is_place
from worker.embedded.finding import Finding, fail, ok, warn

OLDEST_PYTHON: Final = (3, 11)
LITTLE: Final = 1 << 30
TOO_LITTLE: Final = 100 << 20
"""Bytes of free space below which a warning, or a failure, is due."""
_GROUP_AND_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_NAMED: Final = 3
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


def examine(roots: Roots, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check everything that does not depend on what runs."""
    yield _python()
    yield _git()
    yield _ripgrep()
    yield _bubblewrap()
    yield from _roots(roots)
    if roots.state.is_dir():
        yield _temporal(roots, environ)
        yield from _privacy(roots)
        yield _space(roots.state)
        yield _store(roots, environ)
    yield from _endpoints(environ)


def _python() -> Finding:
    text = f"{platform.python_version()} at {sys.executable}"
    if sys.platform != "linux":
        return fail("python", text, "Autolith runs on Linux; on Windows use WSL")
    if sys.version_info < OLDEST_PYTHON:
        return fail("python", text, "install Python 3.11 or newer")
    return ok("python", text)


def _git() -> Finding:
    found = shutil.which("git")
    if found is None:
        return fail("git", "not found", "install git")
    said = subprocess.run(  # noqa: S603 -- git itself
        [found, "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    version = said.stdout.strip().removeprefix("git version ")
    return ok("git", f"{version} at {found}") if version else fail("git", "does not run")


def _temporal(roots: Roots, environ: Mapping[str, str]) -> Finding:
    try:
        binary = identify(find_binary(environ), roots.cache)
    except MissingBinaryError as error:
        return fail("temporal", str(error))
    text = f"{binary.version} with server {binary.server} at {binary.path}"
    others = sorted(
        path.stem.removeprefix("temporal-")
        for path in roots.state.glob("temporal-*.db")
        if path.stem != f"temporal-{binary.server}"
    )
    if others:
        return warn(
            "temporal",
            f"{text}; there are databases of {', '.join(others)}",
            "work in progress stays with the server that began it; finish it with that release",
        )
    return ok("temporal", text)


def _ripgrep() -> Finding:
    try:
        return ok("ripgrep", find_ripgrep())
    except CommandFailed as error:
        return fail("ripgrep", str(error), "install Autolith again (it comes with ripgrep)")


def _bubblewrap() -> Finding:
    if sandbox.available():
        return ok("bubblewrap", "commands can be isolated")
    return warn(
        "bubblewrap",
        "commands cannot be isolated, so sandboxed ones are refused",
        "install bubblewrap and allow user namespaces",
    )


def _roots(roots: Roots) -> Iterator[Finding]:
    try:
        roots.create()
    except UnwritableRootError as error:
        yield fail("roots", str(error))
        return
    yield ok("roots", f"{roots.config}, {roots.data}, {roots.state}, {roots.cache}")
    if roots.config.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield warn(
            "roots",
            f"{roots.config} can be written by others, who can then run code as you",
            f"chmod go-w {roots.config}",
        )


def _privacy(roots: Roots) -> Iterator[Finding]:
    loose = [
        path
        for root in (roots.data, roots.state)
        for path in root.rglob("*")
        if not path.is_symlink() and path.exists() and path.stat().st_mode & _GROUP_AND_OTHERS
    ]
    if loose:
        named = ", ".join(str(path) for path in loose[:_NAMED])
        more = f" and {len(loose) - _NAMED} more" if len(loose) > _NAMED else ""
        # The roots above them are closed, so this is no hole yet.
        yield warn("privacy", f"open to others: {named}{more}", "chmod -R go= those files")
    else:
        yield ok("privacy", "only you can read data and state")


def _space(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    text = f"{free / (1 << 30):.1f} GiB free at {root}"
    if free < TOO_LITTLE:
        return fail("disk", text, "make room; nothing new can be accepted durably")
    return warn("disk", text, "make room soon") if free < LITTLE else ok("disk", text)


def _store(roots: Roots, environ: Mapping[str, str]) -> Finding:
    try:
        Database.open(store_url(roots.data, environ)).close()
    except StoreError as error:
        return fail("store", str(error))
    return ok("store", "opens, and its schema is current")


def _endpoints(environ: Mapping[str, str]) -> Iterator[Finding]:
    for name in sorted(filter(is_place, environ)):
        if not name.endswith(("ENDPOINT", "ENDPOINTS", "URL")):
            continue
        parts = urlsplit(environ[name])
        if parts.scheme not in ("http", "https") or not parts.hostname:
            yield fail(
                "endpoint", f"{name} is no http or https address", f"correct or unset {name}"
            )
        elif parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
            yield warn("endpoint", f"{name} sends keys and text unencrypted", "use https")
        else:
            yield ok("endpoint", f"{name} points to {parts.hostname}")
