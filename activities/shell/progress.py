"""The newest line of a running command, for a screen's one row."""

import re
from collections.abc import Iterable

from activities.shell.capture_reader import CaptureReader
from activities.shell.decoding import decode
from workflows.policy.commands import PROGRESS_CHARACTERS

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TAIL_BYTES = 4 * PROGRESS_CHARACTERS


def newest_line(streams: Iterable[CaptureReader]) -> str:
    """Return the last line with anything on it, of the stream that was written last."""
    newest = max(streams, key=lambda stream: stream.path.stat().st_mtime_ns)
    written = newest.figures().written
    tail = decode(newest.window(max(0, written - _TAIL_BYTES), _TAIL_BYTES).data)
    # A progress bar rewrites its line after a carriage return.
    for line in reversed(re.split(r"[\r\n]+", _ESCAPES.sub("", tail))):
        if shown := _CONTROLS.sub("", line).strip():
            return shown[:PROGRESS_CHARACTERS]
    return ""
