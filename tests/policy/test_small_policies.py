"""Permission, effects, waves and bounds, as tables and properties."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.permission import Answer, Grant, PermissionMode, Verdict
from workflows.contracts.provider import AcceptedCall
from workflows.contracts.tool import Concurrency, EffectClass
from workflows.policy.bounds import clip
from workflows.policy.effects import Resumption, resume
from workflows.policy.permission import grant_answered, grant_of, judge
from workflows.policy.waves import order


@pytest.mark.parametrize(
    ("mode", "sandbox", "answerable", "verdict"),
    [
        (PermissionMode.ASK, True, True, Verdict.ASK),
        (PermissionMode.ASK, False, True, Verdict.ASK),
        (PermissionMode.ASK, True, False, Verdict.DENY),
        (PermissionMode.SANDBOX, True, True, Verdict.SANDBOX),
        (PermissionMode.SANDBOX, True, False, Verdict.SANDBOX),
        (PermissionMode.SANDBOX, False, True, Verdict.ASK),
        (PermissionMode.SANDBOX, False, False, Verdict.DENY),
        (PermissionMode.FULL, False, False, Verdict.ALLOW),
        (PermissionMode.FULL, True, True, Verdict.ALLOW),
    ],
)
def test_a_command_is_judged_by_the_table(
    mode: PermissionMode, sandbox: bool, answerable: bool, verdict: Verdict
) -> None:
    """Domain reference 6.1; a missing sandbox never widens what may run."""
    assert judge(asks=True, mode=mode, sandbox=sandbox, answerable=answerable) is verdict


def test_a_tool_that_needs_no_permission_is_never_asked_about() -> None:
    """Workspace edits pass by the revision gate and the path rules."""
    for mode, sandbox, answerable in product(PermissionMode, (True, False), (True, False)):
        verdict = judge(asks=False, mode=mode, sandbox=sandbox, answerable=answerable)
        assert verdict is Verdict.ALLOW


def test_grants_follow_verdicts_and_answers() -> None:
    """Only "full" runs with the owner's privileges."""
    assert grant_of(Verdict.SANDBOX) is Grant.SANDBOX
    assert grant_of(Verdict.ALLOW) is Grant.FULL
    assert [grant_answered(answer) for answer in (Answer.FULL, Answer.SANDBOX, Answer.DENY)] == [
        Grant.FULL,
        Grant.SANDBOX,
        None,
    ]


@pytest.mark.parametrize(
    ("effect", "intended", "resumption"),
    [
        (EffectClass.OBSERVE, True, Resumption.RUN),
        (EffectClass.KEYED, True, Resumption.RUN),
        (EffectClass.ADOPTABLE, True, Resumption.ADOPT),
        (EffectClass.EFFECT, True, Resumption.UNKNOWN),
        (EffectClass.OBSERVE, False, Resumption.RUN),
        (EffectClass.KEYED, False, Resumption.RUN),
        (EffectClass.ADOPTABLE, False, Resumption.RUN),
        (EffectClass.EFFECT, False, Resumption.RUN),
    ],
)
def test_a_lost_attempt_is_taken_up_by_its_class(
    effect: EffectClass, intended: bool, resumption: Resumption
) -> None:
    """An effect that may have begun never runs again on its own."""
    assert resume(effect, intended=intended) is resumption


CALLS = st.lists(st.sampled_from(list(Concurrency)), max_size=20).map(
    lambda classes: [
        AcceptedCall(
            ordinal=ordinal,
            tool="t",
            effect=EffectClass.OBSERVE,
            concurrency=concurrency,
            verdict=Verdict.ALLOW,
        )
        for ordinal, concurrency in enumerate(classes)
    ]
)


@given(CALLS)
def test_waves_keep_every_call_in_order_and_exclusive_calls_alone(
    calls: list[AcceptedCall],
) -> None:
    """Flattened, the waves are the calls; no wave mixes an exclusive call with another."""
    waves = order(calls)

    assert [call for wave in waves for call in wave] == calls
    for wave in waves:
        alone = [call for call in wave if call.concurrency is not Concurrency.CONCURRENT]
        assert not alone or len(wave) == 1


@given(CALLS)
def test_neighbours_that_may_run_together_do(calls: list[AcceptedCall]) -> None:
    """No two neighbouring waves could have been one."""
    waves = order(calls)

    for first, second in pairwise(waves):
        mixed = (first[0].concurrency, second[0].concurrency)
        assert mixed != (Concurrency.CONCURRENT, Concurrency.CONCURRENT)


@given(st.text(max_size=400), st.integers(80, 200))
def test_clipped_text_fits_keeps_both_ends_and_says_what_is_missing(text: str, limit: int) -> None:
    """The end, where commands put their errors, gets most of the room."""
    clipped = clip(text, limit)

    assert len(clipped) <= limit
    if len(text) <= limit:
        assert clipped == text
    else:
        assert "omitted" in clipped
        assert clipped[:5] == text[:5]
        assert clipped[-20:] == text[-20:]
