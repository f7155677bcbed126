"""Order the calls of one reply into waves (spec: Providers).

"Autolith executes independent calls concurrently, then records their results in
provider wire order. Calls requiring a provider round trip, exclusive tools, and
calls sharing one mutable runtime execute in separate ordered waves."
"""

from collections.abc import Sequence

from workflows.contracts.provider import AcceptedCall
from workflows.contracts.tool import Concurrency


def order(calls: Sequence[AcceptedCall]) -> tuple[tuple[AcceptedCall, ...], ...]:
    """Return *calls* in waves; the calls of one wave may run at the same time."""
    waves: list[list[AcceptedCall]] = []
    open_wave = False
    for call in calls:
        shared = call.concurrency is Concurrency.CONCURRENT
        if shared and open_wave:
            waves[-1].append(call)
        else:
            waves.append([call])
        open_wave = shared
    return tuple(tuple(wave) for wave in waves)
