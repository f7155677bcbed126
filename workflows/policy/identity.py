"""Workflow ids (design: Workflows)."""

from workflows.contracts.key import TurnKey


def conversation(conversation: str) -> str:
    """Name the workflow of a conversation."""
    return f"conversation:{conversation}"


def turn(key: TurnKey) -> str:
    """Name the workflow of a turn."""
    return f"turn:{key.conversation}:{key.turn}"


def job(conversation: str, job: str) -> str:
    """Name the workflow of a job."""
    return f"job:{conversation}:{job}"
