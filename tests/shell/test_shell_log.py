"""``shell-log:`` references (domain reference 5.2, field case A-66)."""

import asyncio
import shutil

import pytest

from activities.errors import InvalidArguments, MissingResource, OperationUnsupported
from activities.tools.resource_kind import EditArguments
from activities.tools.shell_log import ShellLog
from tests.shell.site import CONVERSATION, Site, until
from workflows.contracts.key import CallKey
from workflows.policy.captures import SEARCH_SCAN_BYTES, CaptureLimits

URI = f"shell-log:{CONVERSATION}.1.1.0"
MEGABYTE = 1024 * 1024


async def test_a_window_tells_where_it_is_and_how_to_go_on(site: Site) -> None:
    """By default 4096 bytes from the start."""
    await site.run("yes 0123456 | head -c 10000")

    first = await site.read(URI)
    last = await site.read(URI, byte_offset=8192)

    head, place, *_ = first.text.splitlines()
    assert head == f"{URI}: 10,000 bytes observed, 10,000 retained, complete"
    assert place == "Bytes 0 to 4095; go on at byte-offset 4096."
    assert first.details["next_offset"] == 4096
    assert last.text.splitlines()[1] == "Bytes 8192 to 9999; the end."
    assert last.details["next_offset"] is None


async def test_behind_the_end_there_is_nothing(site: Site) -> None:
    """An offset too far is answered, not an error."""
    await site.run("echo x")

    window = await site.read(URI, byte_offset=100)

    assert window.text.splitlines()[1] == "There is nothing at byte 100."
    assert window.details["next_offset"] is None


async def test_what_was_lost_is_said_with_the_way_around_it(site: Site) -> None:
    """Beginning and end are kept under their own offsets."""
    site.limits = CaptureLimits(stream_bytes=2 * MEGABYTE)
    await site.run(f"yes 0123456 | head -c {4 * MEGABYTE}; echo the end")

    gap = await site.read(URI, byte_offset=2 * MEGABYTE)
    resumed = gap.details["next_offset"]
    after = await site.read(URI, byte_offset=resumed, byte_count=16)
    end = await site.read(URI, query="the end")

    total = 4 * MEGABYTE + len("the end\n")
    assert resumed == total - MEGABYTE // 2
    assert f"were not retained; go on at byte-offset {resumed}." in gap.text
    expected = ("0123456\n" * 4)[resumed % 8 : resumed % 8 + 16]
    assert after.text.split("\n", 2)[2] == expected
    assert end.details["next_offset"] is not None


async def test_a_search_scans_a_bounded_part_and_goes_on(site: Site) -> None:
    """At most 1 MiB each, also for a match across the edge of two scans."""
    edge = SEARCH_SCAN_BYTES - 3
    await site.run(f"head -c {edge} /dev/zero | tr '\\0' .; echo NEEDLE; echo NEEDLE")

    first = await site.read(URI, query="NEEDLE")
    second = await site.read(URI, query="NEEDLE", byte_offset=first.details["next_offset"])

    assert first.details["offsets"] == []
    assert f"go on with byte-offset {first.details['next_offset']}" in first.text
    assert second.details["offsets"] == [edge, edge + 7]
    assert second.details["next_offset"] is None


async def test_a_search_returns_at_most_twenty_excerpts(site: Site) -> None:
    """The rest is behind the next offset; each excerpt is the line around the match."""
    await site.run('for i in $(seq 1 25); do echo "line $i: ERROR here"; done')

    first = await site.read(URI, query="ERROR", max_results=50)
    rest = await site.read(URI, query="ERROR", byte_offset=first.details["next_offset"])
    few = await site.read(URI, query="ERROR", max_results=2)

    assert len(first.details["offsets"]) == 20
    assert first.text.splitlines()[2].endswith(": line 1: ERROR here")
    assert len(rest.details["offsets"]) == 5
    assert rest.details["next_offset"] is None
    assert len(few.details["offsets"]) == 2


async def test_a_search_is_literal_and_utf8(site: Site) -> None:
    """No character has a meaning of its own."""
    await site.run("echo 'a.c'; echo 'abc'; echo 'größe (1)'")

    assert (await site.read(URI, query="a.c")).details["offsets"] == [0]
    assert (await site.read(URI, query="größe (1)")).details["offsets"] == [8]
    assert (await site.read(URI, query="none")).text.splitlines()[1] == (
        "Found in 0 places from byte 0 on; searched to the end."
    )
    with pytest.raises(InvalidArguments):
        await site.read(URI, query="x" * 2000)


async def test_a_long_line_is_shown_around_the_match(site: Site) -> None:
    """One line of megabytes does not become the excerpt."""
    await site.run(
        "head -c 500000 /dev/zero | tr '\\0' a; printf ERROR; head -c 9000 /dev/zero | tr '\\0' b"
    )

    found = await site.read(URI, query="ERROR")

    assert found.details["offsets"] == [500_000]
    assert len(found.text) < 600


async def test_another_conversation_learns_nothing(site: Site) -> None:
    """A foreign reference and an invented one get the same answer."""
    await site.run("echo secret")
    stranger = site.context(key=CallKey(conversation="Other", turn=1, request=1, ordinal=0))

    with pytest.raises(MissingResource) as foreign:
        await site.read(URI, stranger)
    with pytest.raises(MissingResource) as invented:
        await site.read("shell-log:Conv1.9.9.9", stranger)

    assert str(foreign.value).replace(URI, "X") == str(invented.value).replace(
        "shell-log:Conv1.9.9.9", "X"
    )


@pytest.mark.parametrize(
    "identifier", ["", "..", "../../etc/passwd", "x/y/z", f"{CONVERSATION}.1.1.0/../x"]
)
async def test_a_reference_is_not_a_path(site: Site, identifier: str) -> None:
    """Only what was registered can be read."""
    await site.run("echo x")

    with pytest.raises(MissingResource):
        await site.read(f"shell-log:{identifier}")


async def test_streams_are_named_where_there_are_two(site: Site) -> None:
    """The reference of one stream says which; a wrong one lists the right ones."""
    await site.run("echo out; echo err >&2", separate_output=True)

    assert (await site.read(f"{URI}/stderr")).text.endswith("\nerr\n")
    with pytest.raises(MissingResource, match=f"read as {URI}/stdout or {URI}/stderr"):
        await site.read(URI)
    with pytest.raises(MissingResource):
        await site.read(f"{URI}/output")


async def test_a_running_command_can_be_read(site: Site) -> None:
    """What is there is shown, and that more may come is said."""
    running = asyncio.create_task(
        site.run(r"printf 'half \303'; while ! [ -e go ]; do sleep 0.02; done; printf '\251\n'")
    )
    output = site.directory() / "output"
    await until(lambda: output.exists() and output.stat().st_size == 6)

    early = await site.read(URI)
    (site.workspace / "go").touch()
    await running
    later = await site.read(URI, byte_offset=early.details["next_offset"])

    assert "the command still runs" in early.text
    assert early.text.endswith("\nhalf ")
    assert later.text.endswith("\né\n")


async def test_a_missing_file_is_told(site: Site) -> None:
    """Somebody has cleaned up by hand."""
    await site.run("echo x")
    shutil.rmtree(site.directory())

    with pytest.raises(MissingResource, match="its file is missing on this machine"):
        await site.read(URI)


async def test_a_capture_cannot_be_edited(site: Site) -> None:
    """It is evidence."""
    arguments = EditArguments.model_construct(uri=URI, base_revision="R0", operations=())

    with pytest.raises(OperationUnsupported):
        await ShellLog().edit(URI.removeprefix("shell-log:"), arguments, site.context())
