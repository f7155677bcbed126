"""How a process of ours tells its starter that it is ready, or why it will not be.

One line on an inherited pipe: ``ready``, or an error's name and message.  The end of
the pipe without a line means that the process has ended.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from worker.embedded.log_file import LogFile
from worker.embedded.process import Watched

VARIABLE: Final = "AUTOLITH_READY_FD"
"""The number of the descriptor to write the line to."""
READY: Final = "ready"
_DOOR: Final = Path(__file__).resolve().parents[2] / "autolith.py"


def own_command(python: str, *arguments: str) -> list[str]:
    """Return the command line that runs Autolith itself with *arguments*.

    By path and without the directory of the script (``-P``), so that neither the current
    directory nor a neighbour of the door is ever imported instead of the real thing.
    """
    return [python, "-P", str(_DOOR), *arguments]


def announce(environ: Mapping[str, str], line: str = READY) -> None:
    """Write *line* to whoever started this process, if it asked for one.

    Raises:
        BrokenPipeError: whoever started it has gone.
    """
    if VARIABLE not in environ:
        return
    descriptor = int(environ[VARIABLE])
    try:
        os.write(descriptor, f"{' '.join(line.split())}\n".encode(errors="replace"))
    finally:
        os.close(descriptor)


class Launch:
    """A process of ours on its way to being ready."""

    def __init__(
        self, command: Sequence[str], *, environ: Mapping[str, str], log: LogFile
    ) -> None:
        self._log = log
        self._written = log.size()
        with ExitStack() as closing, ExitStack() as undoing:
            self._reading, writing = os.pipe()
            undoing.callback(os.close, self._reading)
            # Only the other process holds it then, so that its end is the pipe's end.
            closing.callback(os.close, writing)
            output = log.open()
            closing.callback(os.close, output)
            self.watched = Watched.start(
                command,
                environ={**environ, VARIABLE: str(writing)},
                log=output,
                inherited=(writing,),
            )
            undoing.pop_all()

    async def line(self) -> str:
        """Wait for the line; it is empty when the process ended without one."""
        reader = asyncio.StreamReader()
        with os.fdopen(self._reading, "rb", buffering=0) as pipe:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            try:
                return (await reader.readline()).decode("utf-8", "replace").strip()
            finally:
                transport.close()

    def last_words(self) -> str:
        """Return the last line that it wrote to its log, and where to read more."""
        said = self._log.last_line(after=self._written) or "it says nothing"
        return f"{said} (see {self._log.path})"
