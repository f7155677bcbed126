"""Which task queue serves what (design: Task queues)."""

SHARED = "autolith"
"""Workflows, and activities that any machine can do."""


def of_host(host: str) -> str:
    """Name the queue of everything bound to *host*'s workspaces."""
    return f"{SHARED}-host-{host}"
