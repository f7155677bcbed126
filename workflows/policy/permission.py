"""Judge one call against the permission mode (domain reference 6.1)."""

from workflows.contracts.permission import Answer, Grant, PermissionMode, Verdict


def judge(*, asks: bool, mode: PermissionMode, sandbox: bool, answerable: bool) -> Verdict:
    """Return the verdict for a call.

    *asks* is the tool's declaration, *sandbox* whether commands can be isolated
    here, *answerable* whether somebody can be asked.  Silence denies; a missing
    sandbox never widens what may run.
    """
    if not asks:
        return Verdict.ALLOW
    if mode is PermissionMode.FULL:
        return Verdict.ALLOW
    if mode is PermissionMode.SANDBOX and sandbox:
        return Verdict.SANDBOX
    return Verdict.ASK if answerable else Verdict.DENY


def grant_of(verdict: Verdict) -> Grant:
    """Return how a call with an allowing *verdict* runs."""
    return Grant.SANDBOX if verdict is Verdict.SANDBOX else Grant.FULL


def grant_answered(answer: Answer) -> Grant | None:
    """Return how an answered call runs; None when it was denied."""
    if answer is Answer.DENY:
        return None
    return Grant.SANDBOX if answer is Answer.SANDBOX else Grant.FULL
