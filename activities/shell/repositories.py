"""Find the Git metadata of a workspace, by name and without running Git."""

import os
from collections.abc import Iterator
from pathlib import Path

from activities.errors import SandboxUnavailable

METADATA = ".git"
GITDIR = "gitdir:"
COMMON = "commondir"
LONGEST_LINK = 4_096


def metadata_in(workspace: Path) -> list[Path]:
    """Return every ``.git`` in *workspace*, and what linked ones point to within it.

    Raises:
        SandboxUnavailable: one is a symbolic link, which cannot be protected: it could
            be replaced by a link to hooks and settings of the command's own.
    """
    found: set[Path] = set()
    for path in _named(workspace):
        if path.is_symlink():
            raise SandboxUnavailable(
                f"{path} is a symbolic link and cannot be protected; replace it by a "
                f"file with the line '{GITDIR} {path.resolve()}'"
            )
        found.add(path)
        if path.is_file():
            found.update(_linked(path))
    return sorted(path for path in found if path.is_relative_to(workspace))


def _named(directory: Path) -> Iterator[Path]:
    waiting = [str(directory)]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.name == METADATA:
                # A link to nowhere is not a repository, and nothing follows it.
                if Path(entry.path).exists():
                    yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    """List a directory; one that we cannot read, the command cannot read either."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (PermissionError, FileNotFoundError):
        return []


def _linked(path: Path) -> Iterator[Path]:
    """Follow the file of a linked worktree or submodule to its directories."""
    line = _line(path)
    if not line.startswith(GITDIR):
        return
    directory = (path.parent / line.removeprefix(GITDIR).strip()).resolve()
    yield directory
    common = directory / COMMON
    if common.is_file():
        yield (directory / _line(common)).resolve()


def _line(path: Path) -> str:
    with path.open(errors="replace") as file:
        return file.read(LONGEST_LINK).strip()
