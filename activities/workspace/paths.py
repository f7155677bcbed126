"""Path authority: the one way from a name in a tool call to a file of the workspace.

A name is resolved with every link, as far as it exists, and compared with the
workspace component by component.  Afterwards the canonical components are walked
from a descriptor of the workspace without following any link, so a directory that
turns into a link between the check and the use is refused instead of followed.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from activities.errors import AccessDenied, MissingResource, OperationUnsupported, ToolError
from activities.workspace.names import SCHEME, encoded, readable

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Place:
    """A canonical place in a workspace.  Nothing may be there yet."""

    root: Path
    """The workspace without links."""
    parts: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path from the workspace, ``.`` for the workspace itself."""
        return "/".join(self.parts) or "."

    @property
    def name(self) -> str:
        """The last component."""
        return self.parts[-1]

    @property
    def parent(self) -> "Place":
        """The directory that holds it."""
        return Place(self.root, self.parts[:-1])

    @property
    def uri(self) -> str:
        """The name to give back to a tool."""
        return f"{SCHEME}:{encoded(self.path)}"

    @property
    def identity(self) -> str:
        """One name for one file, however a call spelled it and wherever the workspace moves."""
        return f"{SCHEME}:{encoded(str(self.root.joinpath(*self.parts)))}"

    @property
    def is_repository_data(self) -> bool:
        """Whether Git keeps it for itself: hooks and settings there run commands."""
        return any(part.casefold() == ".git" for part in self.parts)

    def __str__(self) -> str:
        """Return the path for a sentence."""
        return readable(self.path)


def locate(workspace: Path, name: str) -> Place:
    """Return the place that *name* (relative to *workspace*, or absolute) leads to.

    Raises:
        AccessDenied: it leads out of the workspace.
        MissingResource: the workspace itself is gone.
    """
    try:
        root = Path(os.path.realpath(workspace, strict=True))
    except OSError as error:
        raise MissingResource(
            f"The workspace {readable(str(workspace))} cannot be opened: {error.strerror}"
        ) from error
    target = Path(os.path.realpath(root / name))
    if not target.is_relative_to(root):
        raise AccessDenied(f"{readable(name)} leads out of the workspace")
    return Place(root, target.relative_to(root).parts)


def demand_public(place: Place, private: Path) -> None:
    """Refuse what a workspace holds of Autolith's own state: keys and credentials.

    Raises:
        AccessDenied: *place* is in the directory *private*, which is in the workspace.
    """
    own = private.resolve()
    inside = own != place.root and own.is_relative_to(place.root)
    if inside and place.root.joinpath(*place.parts).is_relative_to(own):
        raise AccessDenied(f"{place} belongs to Autolith")


@contextmanager
def entered(place: Place, *, create: bool = False) -> Iterator[int]:
    """Lend a descriptor of the directory at *place*, reached without following a link.

    *create* makes missing directories on the way, under the umask.

    Raises:
        MissingResource: a directory on the way does not exist.
        AccessDenied: a component became a link, or may not be entered.
    """
    descriptor = _open(place, os.fspath(place.root), None)
    try:
        for part in place.parts:
            below = _enter(place, part, descriptor, create=create)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def status(place: Place, parent: int) -> os.stat_result | None:
    """Return what *place* is in the open directory *parent*, or None when nothing is there.

    Raises:
        AccessDenied: the system does not say.
    """
    try:
        return os.stat(place.name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(place, error) from error


def refusal(place: Place, error: OSError) -> ToolError:
    """Return what a call says when the system refuses *place*."""
    if isinstance(error, FileNotFoundError):
        return MissingResource(f"{place} does not exist")
    if error.errno == errno.ELOOP:
        return AccessDenied(f"{place} became a link while it was opened")
    return AccessDenied(f"{place} cannot be opened: {error.strerror}")


def _enter(place: Place, part: str, parent: int, *, create: bool) -> int:
    try:
        return _open(place, part, parent)
    except MissingResource:
        if not create:
            raise
    try:
        os.mkdir(part, dir_fd=parent)
        os.fsync(parent)
    except FileExistsError:
        pass  # Somebody was faster; whether it may be entered is decided below.
    except OSError as error:
        raise refusal(place, error) from error
    return _open(place, part, parent)


def _open(place: Place, part: str, parent: int | None) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=parent)
    except NotADirectoryError as error:
        # Linux says so of a link, too; and what it was may be gone by the time one looks.
        if _is_link_or_gone(part, parent):
            raise AccessDenied(f"{place} passes a link that was not there before") from error
        raise OperationUnsupported(f"{place}: {readable(part)} is not a directory") from error
    except OSError as error:
        raise refusal(place, error) from error


def _is_link_or_gone(part: str, parent: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return True
