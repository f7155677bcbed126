"""What a command wrote is kept, counted and shown (field cases A-20, A-21 and A-66)."""

import asyncio
import os
import resource
import sys

from activities.shell import processes
from activities.shell.executions import INTERPRETER
from tests.shell.site import Site, until
from workflows.policy.bounds import RESULT_CHARACTERS
from workflows.policy.captures import CaptureLimits

MEGABYTE = 1_000_000
FLAT_KILOBYTES = 40 * 1024


async def test_the_bytes_are_kept_and_the_text_is_readable(site: Site) -> None:
    """Invalid UTF-8 becomes U+FFFD in the text and stays as it is in the file."""
    result = await site.run(r"printf 'ok \377\360\237 end\0\n'")

    assert result.text == "exit 0\nok �� end�"
    assert (site.directory() / "output").read_bytes() == b"ok \xff\xf0\x9f end\0\n"


async def test_random_bytes_are_text_for_every_store(site: Site) -> None:
    """Whatever a command writes can be encoded again."""
    result = await site.run("head -c 4000 /dev/urandom; head -c 40000 /dev/urandom >&2")

    assert result.text.encode()
    assert "\0" not in result.text
    assert result.details["captures"][0]["observed"] == 44_000


async def test_a_cut_does_not_damage_a_character(site: Site) -> None:
    """The preview is made of whole characters at every cut."""
    command = f"{sys.executable} -c \"print('aé€😀' * 5000, end='')\""
    result = await site.run(command)

    assert result.details["truncated"] is True
    assert "�" not in result.text


async def test_the_runner_stays_small_in_a_flood(site: Site) -> None:
    """It counts 200 MB exactly, keeps its limit, and needs no more memory than before."""
    site.limits = CaptureLimits(stream_bytes=MEGABYTE * 8)
    command = (
        "head -c 200000000 /dev/zero | tr '\\0' a; grep VmHWM /proc/$PPID/status; echo ERROR: last"
    )
    result = await site.run(command, timeout_seconds=120)

    (capture,) = result.details["captures"]
    peak = result.text.split("VmHWM:")[1].split()[0]
    tail = len(f"VmHWM:\t{peak:>8} kB\nERROR: last\n")
    assert capture["observed"] == 200_000_000 + tail
    assert capture["retained"] == 8 * MEGABYTE
    assert capture["complete"] is False
    assert int(peak) <= FLAT_KILOBYTES
    assert (site.directory() / "output").stat().st_size == 8 * MEGABYTE
    assert result.text.count("ERROR: last") == 1


async def test_a_flood_does_not_delay_the_clock_or_the_neighbours(site: Site) -> None:
    """Timers fire and other commands answer while one writes as fast as it can."""
    flood = asyncio.create_task(site.run("yes", timeout_seconds=2))
    await until((site.directory() / "output").exists)

    neighbour = await site.run("echo quick", site.context(ordinal=1))
    result = await flood

    assert neighbour.text == "exit 0\nquick"
    assert result.text.startswith("timeout after ")
    assert result.details["captures"][0]["observed"] > MEGABYTE


async def test_the_error_in_the_last_line_is_seen_and_the_notice_is_apart(site: Site) -> None:
    """Three megabytes: the tail is kept, the notice cannot be cut, the bytes can be read."""
    site.limits = CaptureLimits(stream_bytes=64 * MEGABYTE)
    result = await site.run("yes 0123456789 | head -c 3000000; echo; echo 'ERROR: disk on fire'")

    (capture,) = result.details["captures"]
    assert len(result.text) <= RESULT_CHARACTERS
    assert "ERROR: disk on fire" in result.text
    assert (
        f"{capture['uri']}: 3,000,021 bytes observed, 3,000,021 retained, complete."
        in (result.text.splitlines()[-2])
    )
    assert result.details["truncated"] is True
    window = await site.read(capture["uri"], byte_offset=2_990_000, byte_count=24)
    assert window.text.splitlines()[2:] == ["23456789", "0123456789", "0123"]
    found = await site.read(capture["uri"], query="ERROR", byte_offset=2_000_000)
    assert found.details["offsets"] == [3_000_001]


async def test_both_streams_share_one_capture_in_order(site: Site) -> None:
    """By default standard output and error are one stream, as on a terminal."""
    result = await site.run("echo 1; echo 2 >&2; echo 3; echo 4 >&2")

    assert result.text == "exit 0\n1\n2\n3\n4"
    assert [capture["stream"] for capture in result.details["captures"]] == ["output"]


async def test_separate_streams_have_references_of_their_own(site: Site) -> None:
    """Each is counted and read on its own, and the preview favours standard error."""
    result = await site.run("seq 1 5000; seq 10001 15000 >&2", separate_output=True)

    uris = {capture["stream"]: capture["uri"] for capture in result.details["captures"]}
    assert uris == {
        "stdout": "shell-log:Conv1.1.1.0/stdout",
        "stderr": "shell-log:Conv1.1.1.0/stderr",
    }
    out, _, err = result.text.partition("[stderr]\n")
    assert len(err) > 1.5 * len(out)
    assert "5000\n" in out
    assert "15000\n" in err
    window = await site.read(uris["stderr"], byte_count=5)
    assert window.text.splitlines()[2] == "10001"


async def test_room_that_one_stream_does_not_need_goes_to_the_other(site: Site) -> None:
    """A short standard error leaves nearly the whole preview to standard output."""
    result = await site.run("seq 1 5000; echo oops >&2", separate_output=True)

    out, _, err = result.text.partition("[stderr]\n")
    assert len(out) > 6_000
    assert err.startswith("oops\n")


async def test_silence_is_said(site: Site) -> None:
    """A command without output does not look like a lost one."""
    assert (await site.run("true")).text == "exit 0\n(no output)"


async def test_the_newest_line_is_shown_while_it_runs(site: Site) -> None:
    """Progress is the last line with anything on it, without control characters."""
    lines: list[str] = []
    command = (
        r"printf 'one\ntwo\r\033[31mthree\033[0m\n\n'; touch printed; "
        "while ! [ -e go ]; do sleep 0.02; done"
    )
    running = asyncio.create_task(site.run(command, site.context(progress=lines.append)))
    await until(lambda: lines)
    (site.workspace / "go").touch()
    await running

    assert set(lines) == {"three"}


async def test_a_full_disk_loses_output_and_not_the_outcome(site: Site) -> None:
    """The command is drained and counted on; what is missing is said."""
    # A file size limit of the runner is met like a full disk: write(2) fails.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    site.limits = CaptureLimits(stream_bytes=64 * MEGABYTE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5 * MEGABYTE, before[1]))
    try:
        running = asyncio.create_task(
            site.run("while ! [ -e go ]; do sleep 0.02; done; head -c 9000000 /dev/zero; exit 4")
        )
        await until((site.directory() / "output").exists)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (site.workspace / "go").touch()
    result = await running

    (capture,) = result.details["captures"]
    assert result.details["exit"] == 4
    assert capture["observed"] == 9 * MEGABYTE
    assert capture["retained"] <= 5 * MEGABYTE
    assert capture["complete"] is False
    assert "were not kept: File too large." in result.text


async def test_everything_of_an_execution_is_private(site: Site) -> None:
    """Files are 0600 and directories 0700, whatever the umask; the command keeps its own."""
    before = os.umask(0o002)
    try:
        await site.run("touch made; umask > mask")
    finally:
        os.umask(before)

    directory = site.directory()
    assert directory.parent.stat().st_mode & 0o777 == 0o700
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    assert (site.workspace / "mask").read_text() == "0002\n"


async def test_cpu_and_real_time_are_recorded(site: Site) -> None:
    """Both are microseconds, and CPU time includes the descendants'."""
    result = await site.run("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; sleep 0.2")

    assert result.details["cpu_microseconds"] > 10_000
    assert result.details["real_microseconds"] > 200_000


async def test_the_runner_is_isolated(site: Site) -> None:
    """It is a session leader of its own and Python in isolated mode."""
    result = await site.run(
        "tr '\\0' ' ' < /proc/$PPID/cmdline; echo; ps -o sid= -p $PPID; echo $PPID"
    )

    line, session, parent = result.text.splitlines()[1:]
    assert line.split()[: len(INTERPRETER)] == list(INTERPRETER)
    assert session.split()[-1] == parent
    await until(lambda: processes.find(int(parent)) is None)
