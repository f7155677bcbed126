"""How long commands may run and how they are ended (domain reference 5.4, 7.3)."""

from datetime import timedelta

from workflows.contracts.key import CallKey

TIMEOUT = timedelta(seconds=60)
"""timeout-seconds: default 60,"""
SHORTEST_TIMEOUT = timedelta(seconds=1)
"""minimum 1, no product maximum."""
TERMINATION_GRACE = timedelta(seconds=1)
"""TERM, short grace, KILL to the group (field case A-19)."""
LINGER = timedelta(milliseconds=250)
"""A result "within a short grace after the direct child ends" (field case A-18)."""
KILL_PATIENCE = timedelta(seconds=5)
"""SIGKILL works at once unless the kernel itself is stuck; then nobody waits longer."""
PROGRESS_EVERY = timedelta(milliseconds=500)
"""How often the newest output line is shown."""
PROGRESS_CHARACTERS = 200
LABEL_CHARACTERS = 60
"""The row label of a command: its description, else derived from the command."""


def effective_timeout(seconds: float | None, *, detached: bool) -> float | None:
    """Return how long a command may run; None is for as long as it likes.

    The default keeps a turn from waiting for ever, and nobody waits for a detached one.
    """
    if seconds is None and not detached:
        return TIMEOUT.total_seconds()
    return seconds


def label(command: str, description: str | None) -> str:
    """Return the one-line label of a command."""
    lines = (description or command).strip().splitlines()
    text = " ".join(lines[0].split()) if lines else "shell"
    if len(text) > LABEL_CHARACTERS:
        return text[: LABEL_CHARACTERS - 1] + "…"
    return text if description or len(lines) < 2 else f"{text} …"  # noqa: PLR2004 -- more than one


def job_id(key: CallKey) -> str:
    """Name the job that the call at *key* leaves behind, the same in every attempt."""
    return f"j-{key.turn}-{key.request}-{key.ordinal}"
