"""What becomes of a call whose earlier attempt was lost (design: A turn).

"observe (repeat freely), keyed (safe to repeat under its key), adoptable (the
process outlives the worker), effect (at most once; a lost attempt becomes
'unknown outcome: inspect before repeating' for the model)."
"""

from enum import StrEnum

from workflows.contracts.tool import EffectClass


class Resumption(StrEnum):
    """How an attempt goes about its call."""

    RUN = "run"
    ADOPT = "adopt"
    UNKNOWN = "unknown"


def resume(effect: EffectClass, *, intended: bool) -> Resumption:
    """Decide for a call without a stored result.

    *intended* says that an earlier attempt wrote down that it was about to begin;
    without that note nothing can have happened yet, so even an effect may run.
    """
    if not intended or effect in (EffectClass.OBSERVE, EffectClass.KEYED):
        return Resumption.RUN
    if effect is EffectClass.ADOPTABLE:
        return Resumption.ADOPT
    return Resumption.UNKNOWN
