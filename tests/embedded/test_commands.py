"""``up``, ``down``, ``status`` and ``doctor`` as a person types them, with the real worker."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.home import Home, kill, occupied, until_gone
from worker.embedded.finding import Grade
from worker.embedded.installation import examine_installation
from worker.embedded.readiness import own_command


def autolith(home: Home, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end."""
    return subprocess.run(
        own_command(sys.executable, *words),
        cwd="/",
        env={**home.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def as_object(done: "subprocess.CompletedProcess[str]") -> Any:
    """Return what a command printed as JSON."""
    return json.loads(done.stdout)


async def test_a_day_of_the_runtime(home: Home) -> None:
    """Down, up, up again, status, doctor, down: each says what is so."""
    assert autolith(home, "down").stdout == "Nothing was running.\n"
    nothing = autolith(home, "status")
    assert nothing.returncode == 1
    assert nothing.stdout == "Not ready: Autolith does not run here; 'autolith up' starts it.\n"

    first = autolith(home, "up")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Autolith runs:\n  address     127.0.0.1:")
    again = autolith(home, "up")
    assert again.stdout.startswith("Autolith already runs:\n")
    assert again.stdout.splitlines()[1:] == first.stdout.splitlines()[1:]

    status = autolith(home, "status", "--json")
    assert status.returncode == 0
    assert as_object(status)["running"] is True
    runtime = await home.found()
    assert as_object(status)["address"] == runtime.address

    report = autolith(home, "doctor", "--json")
    assert report.returncode == 0, report.stdout
    assert {finding["grade"] for finding in as_object(report)} <= {"ok", "warn"}
    polled = [finding["text"] for finding in as_object(report) if finding["check"] == "worker"]
    assert len(polled) == 2
    assert polled[0] == "polls autolith"
    assert polled[1].startswith("polls autolith-host-")

    stopped = autolith(home, "down")
    assert stopped.returncode == 0
    assert stopped.stdout.startswith("Stopped. Conversations wait")
    assert home.processes() == []


async def test_another_port_while_it_runs(home: Home) -> None:
    """It is not moved silently."""
    runtime = await home.up()

    moved = autolith(home, "up", "--port", "5555")

    assert moved.returncode == 1
    assert moved.stderr == (
        f"autolith: Autolith already runs at {runtime.address}; run 'autolith down' to move it\n"
    )


async def test_a_taken_port(home: Home) -> None:
    """One line, and status 1, detached and in the foreground."""
    with occupied() as other:
        port = str(other.getsockname()[1])
        detached = autolith(home, "up", "--port", port)
        attached = autolith(home, "up", "--foreground", "--port", port)

    for refused in (detached, attached):
        assert refused.returncode == 1
        assert refused.stderr.startswith(
            f"autolith: Port {port} on 127.0.0.1 is in use by another"
        )
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("up", "--port", "0"),
        ("up", "--port", "65536"),
        ("up", "--port", "x"),
        ("up", "--foreground", "--json"),
        ("up", "extra"),
        ("--address", "127.0.0.1:1", "up"),
        ("--address", "127.0.0.1:1", "down"),
    ],
    ids=" ".join,
)
def test_a_wrong_option(tmp_path: Path, words: tuple[str, ...]) -> None:
    """One line on standard error and status 64."""
    refused = autolith(Home(tmp_path), *words)

    assert refused.returncode == 64
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1


async def test_status_names_what_a_killed_supervisor_left(home: Home) -> None:
    """Server and worker go on; the person learns who they are."""
    runtime = await home.up()
    kill(runtime.supervisor.pid)
    await until_gone(runtime.supervisor.pid)
    assert runtime.server
    assert runtime.worker

    status = autolith(home, "status")
    left = as_object(autolith(home, "status", "--json"))

    assert status.returncode == 1
    assert status.stdout.splitlines()[1] == (
        f"Its supervisor is gone; the server (pid {runtime.server.pid}) and the worker "
        f"(pid {runtime.worker.pid}) wait for the next one, or for 'autolith down'."
    )
    assert left["left"] == {"server": runtime.server.pid, "worker": runtime.worker.pid}


def test_doctor_finds_what_is_wrong(tmp_path: Path) -> None:
    """A root that cannot be made, a program that is missing, an address that is none."""
    home = Home(tmp_path)
    home.roots.create()
    (home.roots.data / "loose").touch(mode=0o644)
    environ = {
        "PATH": str(tmp_path),
        "AUTOLITH_TEMPORAL_BINARY": "/nowhere",
        "AUTOLITH_OPENAI_ENDPOINT": "ftp://example.invalid/v1",
    }

    report = autolith(home, "doctor", "--json", **environ)

    grades = {finding["check"]: finding["grade"] for finding in as_object(report)}
    assert report.returncode == 1
    assert {check for check, grade in grades.items() if grade == "fail"} == {
        "git",
        "temporal",
        "endpoint",
    }
    assert {check for check, grade in grades.items() if grade == "warn"} == {
        "bubblewrap",
        "privacy",
    }
    (tmp_path / ".local/state/autolith").rename(tmp_path / "moved")
    (tmp_path / ".local/state/autolith").write_text("a file")
    obstructed = autolith(home, "doctor", **environ)
    assert obstructed.returncode == 1
    assert "fail  roots" in obstructed.stdout


def test_doctor_shows_a_key_in_no_line(tmp_path: Path) -> None:
    """An endpoint may carry a password, and variables carry keys."""
    report = autolith(
        Home(tmp_path),
        "doctor",
        AUTOLITH_OPENAI_ENDPOINT="http://user:hunter2hunter2@example.invalid/v1",
        AUTOLITH_OPENAI_API_KEY="sek-12345678",
    )

    assert "AUTOLITH_OPENAI_ENDPOINT sends keys and text unencrypted" in report.stdout
    assert "hunter2" not in report.stdout + report.stderr
    assert "sek-" not in report.stdout + report.stderr


def test_installed_files_are_compared_with_their_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that another distribution has overwritten is found; an intact one is not blamed."""
    installed = distribution("click")
    for path in installed.files or ():
        target = tmp_path / path
        if ".." not in path.parts:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path.locate(), target)
    monkeypatch.syspath_prepend(tmp_path)
    assert examine_installation("click").grade is Grade.OK

    (tmp_path / "click" / "core.py").write_text("# another distribution's\n")
    (tmp_path / "click" / "types.py").unlink()

    finding = examine_installation("click")
    assert finding.grade is Grade.FAIL
    assert finding.text == "2 differ from the release: click/core.py, click/types.py"
    assert examine_installation("no-such-distribution").grade is Grade.WARN
