"""Which files a search covers: ``*.py src/ !tests/``.

Words are separated by spaces.  ``dir/`` searches that directory of the workspace, a glob
names files, and "!" excludes what follows, at any depth unless it holds a "/".  Several
directories or globs widen the search; a directory and a glob narrow each other.
"""

import stat
from dataclasses import dataclass
from pathlib import Path

from activities.errors import InvalidArguments
from activities.workspace.globs import Glob, read_glob
from activities.workspace.names import readable
from activities.workspace.paths import Place, locate


@dataclass(frozen=True)
class Constraints:
    """The parts of one constraint text."""

    directories: tuple[Place, ...] = ()
    globs: tuple[Glob, ...] = ()
    excluded: tuple[str, ...] = ()

    def admits(self, path: str) -> bool:
        """Tell whether the file at *path* is one of those that were named."""
        return not self.globs or any(glob.matches(path) for glob in self.globs)

    @property
    def options(self) -> list[str]:
        """What tells ripgrep to leave out as much as it can by itself."""
        options = [f"--glob=!{pattern}" for pattern in self.excluded]
        patterns = [glob.pattern for glob in self.globs]
        # Unlike --glob, a type does not bring back what .gitignore leaves out.
        if patterns and not any(
            character in pattern for pattern in patterns for character in "/:"
        ):
            options += [f"--type-add=wanted:{pattern}" for pattern in patterns]
            options.append("--type=wanted")
        return options

    @property
    def paths(self) -> list[str]:
        """Where the search begins, in order and without visiting a directory twice."""
        chosen: list[Place] = []
        for place in sorted(self.directories, key=lambda place: place.parts):
            if not any(place.parts[: len(outer.parts)] == outer.parts for outer in chosen):
                chosen.append(place)
        return [f"./{'/'.join(place.parts)}" for place in chosen] or ["./"]


def read_constraints(workspace: Path, text: str) -> Constraints:
    """Return the constraints that *text* spells.

    Raises:
        InvalidArguments: a word makes no sense.
        AccessDenied: a directory leads out of the workspace.
    """
    words = text.split()
    wanted = [word for word in words if not word.startswith("!")]
    excluded = [word[1:] for word in words if word.startswith("!")]
    for pattern in excluded:
        read_glob(pattern)
    return Constraints(
        directories=tuple(_directory(workspace, word) for word in wanted if word.endswith("/")),
        globs=tuple(read_glob(word) for word in wanted if not word.endswith("/")),
        excluded=tuple(excluded),
    )


def _directory(workspace: Path, name: str) -> Place:
    place = locate(workspace, name.lstrip("/"))
    try:
        status = place.root.joinpath(*place.parts).stat(follow_symlinks=False)
    except OSError:
        raise InvalidArguments(
            f"There is no directory {readable(name)} in the workspace"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise InvalidArguments(f"{readable(name)} is not a directory")
    return place
