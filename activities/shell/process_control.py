"""Two things that only ``prctl`` can ask of Linux; elsewhere nothing is asked."""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal_number: int) -> None:
    """Have *signal_number* sent to this process when its parent ends."""
    _prctl(PR_SET_PDEATHSIG, signal_number)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    if _LIBRARY.prctl(option, value, 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_LIBRARY = ctypes.CDLL(None, use_errno=True)
