"""How long a run may get before it continues as new."""

from temporalio import workflow

from workflows.policy import timeouts


def history_is_long() -> bool:
    """Return whether this run should continue as new at the next safe point."""
    info = workflow.info()
    return (
        info.is_continue_as_new_suggested()
        or info.get_current_history_length() > timeouts.CONTINUE_AFTER_EVENTS
    )
