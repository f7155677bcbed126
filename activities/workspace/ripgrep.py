"""Run ripgrep over the workspace: a stream of records, killed when nobody wants more.

It starts with an environment of ours, without a configuration file, follows no link,
and respects ``.gitignore`` whether or not the workspace is a repository.
"""

import asyncio
import re
import shutil
import sysconfig
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from activities.errors import CommandFailed, InvalidArguments

FAILED = 2
"""The exit status for anything but found and not found."""
TOO_LONG = b""
"""Takes the place of a record that is longer than what is kept."""

_SCRIPTS = Path(sysconfig.get_path("scripts"))
_SPECIAL = re.compile(r"[][*?{}!\\]")
_CHUNK = 64 * 1024
_EXPLANATION_CHARACTERS = 400
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
_OPTIONS = (
    "--no-config",
    "--no-follow",
    "--no-messages",
    "--no-mmap",
    "--no-ignore-global",
    "--color=never",
    "--hidden",
    *(f"--glob=!{directory}" for directory in (".git", ".hg", ".jj", ".svn")),
)
_OUTSIDE_OF_A_REPOSITORY = ("--no-require-git", "--no-ignore-parent")


def hidden(root: Path, private: Path) -> list[str]:
    """Return what keeps a search below *root* out of the directory *private*."""
    place = private.resolve()
    if place == root or not place.is_relative_to(root):
        return []
    name = _SPECIAL.sub(r"\\\g<0>", place.relative_to(root).as_posix())
    return [f"--glob=!/{name}/"]


def find_ripgrep(scripts: Path = _SCRIPTS, path: str | None = None) -> str:
    """Return the path of the ``rg`` that was installed with Autolith, or of one in *path*.

    Raises:
        CommandFailed: there is none.
    """
    installed = scripts / "rg"
    found = str(installed) if installed.is_file() else shutil.which("rg", path=path)
    if found is None:
        raise CommandFailed("Searching needs ripgrep (rg), which is not installed")
    return found


@asynccontextmanager
async def searching(root: Path, arguments: list[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run ripgrep below *root* and make sure that it has ended afterwards.

    Raises:
        CommandFailed: it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            find_ripgrep(),
            *_OPTIONS,
            *(() if _is_in_repository(root) else _OUTSIDE_OF_A_REPOSITORY),
            *arguments,
            cwd=root,
            env=_ENVIRONMENT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise CommandFailed(f"ripgrep cannot be started: {error.strerror}") from error
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def records(
    process: asyncio.subprocess.Process, separator: bytes, longest: int
) -> AsyncGenerator[bytes, None]:
    """Yield what *process* prints, one record at a time; a long one becomes ``TOO_LONG``.

    Raises:
        InvalidArguments: it does not accept the expression.
    """
    assert process.stdout is not None  # noqa: S101 -- it was started with a pipe
    rest, is_long = b"", False
    while chunk := await process.stdout.read(_CHUNK):
        first, *others = chunk.split(separator)
        rest += first
        for part in others:
            yield TOO_LONG if is_long or len(rest) > longest else rest
            rest, is_long = part, False
        if len(rest) > longest:
            rest, is_long = b"", True
    await _demand_success(process)


async def _demand_success(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None  # noqa: S101 -- it was started with a pipe
    said = (await process.stderr.read()).decode(errors="replace")
    # Files that could not be opened give the same status, but say nothing.
    if await process.wait() == FAILED and said:
        reason = " ".join(said.removeprefix("rg: ").split())
        raise InvalidArguments(f"The search failed: {reason[:_EXPLANATION_CHARACTERS]}")


def _is_in_repository(root: Path) -> bool:
    return any((directory / ".git").exists() for directory in (root, *root.parents))
