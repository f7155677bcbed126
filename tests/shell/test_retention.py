"""Captures make room for each other, and evidence is kept (spec: Retained command output)."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from activities.errors import CommandFailed, MissingResource, UnknownOutcome
from activities.shell.captures import CaptureState, mark_delivered
from activities.store.schema import CAPTURES
from tests.shell.site import CONVERSATION, Site
from workflows.policy.captures import (
    Allocation,
    CaptureLimits,
    HeldCapture,
    allocate,
)

MEGABYTE = 1024 * 1024
LIMITS = CaptureLimits(stream_bytes=4 * MEGABYTE, retained_bytes=20 * MEGABYTE, retained_count=4)
NOW = 1_000_000_000.0
WEEK = timedelta(days=7).total_seconds()


def held(
    name: str, *, age: float | None = 60.0, size: int = 0, delivered: bool = True
) -> HeldCapture:
    """Return a capture that ended *age* seconds ago, or still runs."""
    ended = None if age is None else NOW - age
    return HeldCapture(execution=name, ended=ended, reserved=size, delivered=delivered)


def room(*captures: HeldCapture, streams: int = 1) -> Allocation:
    """Allocate for one more capture."""
    return allocate(captures, streams=streams, now=NOW, limits=LIMITS)


def uri(ordinal: int) -> str:
    """Return the reference of the call at *ordinal*."""
    return f"shell-log:{CONVERSATION}.1.1.{ordinal}"


def test_captures_younger_than_a_week_stay_while_there_is_room() -> None:
    """Age alone prunes after seven days, not before."""
    assert room(held("young", age=WEEK - 1), held("old", age=WEEK + 1)).pruned == ("old",)


def test_the_oldest_go_first_and_only_as_many_as_needed() -> None:
    """Under pressure the newest results stay."""
    captures = [held(str(age), age=age, size=5 * MEGABYTE) for age in (30, 10, 20, 40)]

    assert room(*captures).pruned == ("40",)


def test_running_and_untold_captures_are_never_pruned() -> None:
    """Neither age nor pressure touches them."""
    running = held("running", age=None, size=16 * MEGABYTE)
    untold = held("untold", age=2 * WEEK, size=4 * MEGABYTE, delivered=False)

    assert room(running, untold) == Allocation(pruned=(), stream_bytes=0)


def test_under_pressure_a_capture_gets_what_there_is() -> None:
    """Less than its due, divided between its streams, and not less than a megabyte."""
    running = held("running", age=None, size=16 * MEGABYTE)
    nearly = held("nearly", age=None, size=2 * MEGABYTE)

    assert room(running, nearly).stream_bytes == 2 * MEGABYTE
    assert room(running, nearly, streams=2).stream_bytes == MEGABYTE
    assert room(running, nearly, held("more", age=None, size=1), streams=2).stream_bytes == 0


def test_the_number_of_captures_is_limited_too() -> None:
    """Empty ones count as well."""
    captures = [held(str(age), age=age) for age in (10, 20, 30, 40)]

    assert room(*captures) == Allocation(pruned=("40",), stream_bytes=LIMITS.stream_bytes)


async def test_the_defaults_are_the_specs(site: Site) -> None:
    """64 MiB per stream, 1 GiB, 256 captures, seven days."""
    assert CaptureLimits() == CaptureLimits(
        stream_bytes=67_108_864,
        retained_bytes=1_073_741_824,
        retained_count=256,
        pruneable_after=timedelta(days=7),
    )
    await site.run("true", separate_output=True)
    assert {stream.limit for stream in site.capture(0).streams.values()} == {67_108_864}


async def test_a_pruned_capture_says_so_and_its_command_stays_done(site: Site) -> None:
    """The files are gone, the row remains: it is neither readable nor startable."""
    site.limits = CaptureLimits(retained_count=1)
    await site.run("echo first >> effects")
    await site.run("true", site.context(1))

    assert not site.directory(0).exists()
    assert site.capture(0).state is CaptureState.PRUNED
    with pytest.raises(MissingResource, match="was pruned by retention"):
        await site.read(uri(0))
    with pytest.raises(UnknownOutcome, match="its records are gone"):
        await site.run("echo second >> effects")
    assert (site.workspace / "effects").read_text() == "first\n"


async def test_a_capture_that_ended_holds_only_what_it_has(site: Site) -> None:
    """The reservation of 64 MiB ends with the command."""
    site.limits = LIMITS
    for ordinal in range(4):
        await site.run("echo small", site.context(ordinal))

    assert all(site.directory(ordinal).exists() for ordinal in range(4))


async def test_an_untold_job_is_kept_until_it_is_told(site: Site) -> None:
    """Completion evidence is protected; once delivered it may go."""
    site.limits = CaptureLimits(retained_count=1)
    await site.detach("true")
    with pytest.raises(CommandFailed, match="There is no room for another capture"):
        await site.run("true", site.context(1))

    execution = site.context(0).key.execution
    await site.executions.watch(execution)
    with pytest.raises(CommandFailed):
        await site.run("true", site.context(1))
    await site.database.write(lambda tx: tx.execute(update(CAPTURES).values(ended=NOW)))
    await site.database.write(lambda tx: mark_delivered(tx, execution))

    assert (await site.run("true", site.context(1))).text.startswith("exit 0")


async def test_a_terminated_turn_does_not_hold_its_reservation(site: Site) -> None:
    """A command that ended unobserved takes up its real size, not 64 MiB."""
    site.limits = LIMITS.model_copy(update={"retained_bytes": 6 * MEGABYTE})
    await site.detach("echo x")
    await site.executions.watch(site.context(0).key.execution)

    assert (await site.run("true", site.context(1))).text.startswith("exit 0")
    assert {stream.limit for stream in site.capture(1).streams.values()} == {4 * MEGABYTE}


async def test_the_captures_of_another_host_are_not_ours_to_prune(site: Site) -> None:
    """A shared store knows captures whose files are elsewhere."""
    site.limits = CaptureLimits(retained_count=1)
    await site.run("true")
    site.directory(0).rename(site.root / "elsewhere")

    await site.run("true", site.context(1))

    assert site.capture(0).state is CaptureState.FINISHED
