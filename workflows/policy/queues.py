"""Which task queue serves what (design: Task queues)."""

SHARED = "autolith"
"""Conversations, and activities that any machine can do for them."""


def of_host(host: str) -> str:
    """Name the queue of everything bound to *host*'s workspaces: turns, jobs, their activities.

    A turn cannot get far without its workspace, and an activity on the queue of its
    workflow is dispatched with the workflow's own task, a hop less (decision 0008).
    """
    return f"{SHARED}-host-{host}"
