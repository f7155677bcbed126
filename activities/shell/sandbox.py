"""The sandbox of a command: bubblewrap (domain reference 6.2).

"No network, host file system read-only, workspace and temporary directories writable,
repository .git metadata protected."  Beyond that, what is private to Autolith is not
there at all, and neither are the sockets of the machine's services.  A command that
has to be isolated and cannot be does not run.
"""

import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from activities.errors import SandboxUnavailable
from activities.shell.repositories import metadata_in

PROGRAM = "bwrap"
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 -- private ones are mounted there
SERVICES = Path("/run")
SYSTEM_LINKS = (Path("/run/current-system"), Path("/run/wrappers"), Path("/run/opengl-driver"))
"""Where NixOS keeps its programs, below the directory of the sockets."""
ISOLATION = (
    *("--unshare-all", "--die-with-parent"),
    # Started by root, bubblewrap would otherwise keep the power to undo its mounts.
    *("--cap-drop", "ALL"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)

Mounts = dict[Path, tuple[str, ...]]


def available() -> bool:
    """Tell whether commands can be isolated here, by having isolated one.

    The answer for one program is kept; the first question takes some milliseconds.
    """
    program = shutil.which(PROGRAM)
    return program is not None and _works(program)


def isolate(
    argv: Sequence[str], *, workspace: Path, directory: Path, private: Sequence[Path]
) -> list[str]:
    """Return the command line that runs *argv* in the sandbox.

    Only *workspace* can be written; *private* directories are empty there.

    Raises:
        SandboxUnavailable: the command cannot be isolated.
    """
    program = shutil.which(PROGRAM)
    if program is None or not _works(program):
        raise SandboxUnavailable(
            "The sandbox is not available: install bubblewrap (bwrap) and allow user "
            "namespaces, or grant full access"
        )
    mounts = _mounts(workspace.resolve(), [path.resolve() for path in private])
    # Parents first, so that of two mounts the deeper one decides.
    arguments = [part for path in sorted(mounts) for part in mounts[path]]
    place = ["--setenv", "TMPDIR", str(TEMPORARY[0]), "--chdir", str(directory.resolve())]
    return [program, *ISOLATION, *arguments, *place, "--", *argv]


def _mounts(workspace: Path, private: Sequence[Path]) -> Mounts:
    mounts: Mounts = {
        path: ("--tmpfs", str(path)) for path in (*TEMPORARY, SERVICES) if path.is_dir()
    }
    mounts |= {path: _read_only(path) for path in SYSTEM_LINKS if path.exists()}
    mounts[workspace] = ("--bind", str(workspace), str(workspace))
    mounts |= {path: _read_only(path) for path in metadata_in(workspace)}
    for path in private:
        if workspace == path:
            raise SandboxUnavailable(f"{path} is Autolith's own and cannot be a workspace")
        if path.is_dir():
            mounts[path] = ("--tmpfs", str(path))
    return mounts


def _read_only(path: Path) -> tuple[str, ...]:
    return ("--ro-bind", str(path), str(path))


@functools.cache
def _works(program: str) -> bool:
    try:
        probe = subprocess.run(  # noqa: S603 -- the sandbox itself, running nothing
            [program, *ISOLATION, "--", "/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return probe.returncode == 0
