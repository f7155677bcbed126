"""``autolith run`` and the commands around it, on the real embedded runtime."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.command import json_lines, one_line
from tests.cli.running import Running, is_alive, until


def kinds(output: str) -> list[str]:
    """Return the kinds of JSON lines."""
    return [line["kind"] for line in json_lines(output)]


def read_until(process: subprocess.Popen[str], kind: str) -> list[dict[str, Any]]:
    """Read JSON lines of *process* up to the first of *kind*."""
    found: list[dict[str, Any]] = []
    assert process.stdout is not None
    for line in process.stdout:
        found += json_lines(line)
        if found[-1]["kind"] == kind:
            return found
    raise AssertionError(f"no {kind} in {found}")


@pytest.fixture
def interrupted(running: Running) -> Iterator[subprocess.Popen[str]]:
    """A run whose model speaks for a long time."""
    process = running.start("run", "endless", "--json")
    yield process
    process.kill()
    process.communicate()


def test_the_answer_alone_goes_to_standard_output(running: Running) -> None:
    """And nothing else anywhere, when nobody watches."""
    ended = running.run("run", "greet me")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "Hello from the script.\n", "")


def test_json_is_the_event_stream_from_receipt_to_end(running: Running) -> None:
    """One object a line."""
    ended = running.run("run", "story", "--json")
    events = json_lines(ended.stdout)
    assert ended.returncode == 0
    assert kinds(ended.stdout)[:3] == ["receipt", "message", "turn-started"]
    assert events[0]["disposition"] == "started"
    assert events[0]["turn"] == 1
    assert events[-1]["kind"] == "turn-ended"
    assert events[-1]["body"]["outcome"] == "completed"
    answer = next(event for event in events if event["kind"] == "answer")
    assert answer["body"]["text"].endswith("\n\nThe end.")
    seqs = [event["seq"] for event in events[1:]]
    assert seqs == sorted(set(seqs))


def test_the_prompt_comes_from_a_file_or_a_pipe(running: Running) -> None:
    """All of it, with its line breaks."""
    running.path("prompt.txt").write_text("first line\ngreet\n", encoding="utf-8-sig")
    assert running.run("run", "--file", "prompt.txt").stdout == "Hello from the script.\n"
    assert running.run("run", stdin="greet").stdout == "Hello from the script.\n"
    assert running.run("run", "-", stdin="greet").stdout == "Hello from the script.\n"
    conversation = json_lines(running.run("run", "--json", "--file", "prompt.txt").stdout)[0]
    assert running.texts(conversation["conversation"])[0] == "first line\ngreet\n"


def test_a_failed_turn_is_status_1_and_one_line(running: Running) -> None:
    """With the provider's reason."""
    line = one_line(running.run("run", "refuse this"), status=1)
    assert line.startswith("autolith: turn 1 failed: refused: ")
    assert "not like this" in line


def test_what_would_ask_is_denied_without_a_terminal(running: Running) -> None:
    """The model hears it and goes on."""
    ended = running.run("run", "touch", "--json")
    result = next(event for event in json_lines(ended.stdout) if event["kind"] == "result")
    assert result["body"]["status"] == "denied"
    assert ended.returncode == 0
    assert not running.path("ran.txt").exists()


def test_full_permissions_run_the_command_once(running: Running, tmp_path: Path) -> None:
    """In the workspace that was named."""
    ended = running.run("run", "touch", "--permissions", "full", "--workspace", str(tmp_path))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "It ran.\n", "")
    assert (tmp_path / "ran.txt").read_text() == "ran\n"


def test_a_cut_off_attempt_is_an_event_and_the_answer_is_whole(running: Running) -> None:
    """The partial text is not part of the answer."""
    ended = running.run("run", "broken")
    assert ended.stdout == "This sentence is whole.\n"
    conversation = running.begun("broken once more")
    shown = running.run("show", conversation).stdout
    assert "✗ attempt 1 failed: stream-interrupted" in shown
    assert "[cut off: " in shown
    assert shown.count("This sentence is whole.") == 1


def test_text_that_would_control_the_terminal_is_shown(running: Running) -> None:
    """By run and show; the export keeps the text, and JSON escapes it."""
    ended = running.run("run", "hostile")
    assert ended.stdout == "␛[2J␛]0;owned␇<U+202E>evil␍over\n"
    conversation = running.begun("hostile")
    assert "\x1b" not in running.run("show", conversation).stdout
    exported = running.run("export", conversation).stdout
    assert "\x1b[2J\x1b]0;owned\x07\u202eevil" in exported


def test_text_that_the_locale_cannot_hold_is_escaped(running: Running) -> None:
    """Instead of failing after a turn was paid for."""
    ended = running.run("run", "wide", environ={"PYTHONIOENCODING": "latin-1"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("\\u65e5\\u672c\\u8a9e")


def test_a_conversation_continues_under_an_abbreviation(running: Running) -> None:
    """With hyphens where a person put them."""
    conversation = running.begun()
    short = f"{conversation[:2]}-{conversation[2:7]}"
    ended = running.run("run", "another", "--conversation", short)
    assert ended.stdout == "I do not know that one.\n"
    assert running.outcomes(conversation) == ["completed", "completed"]
    assert running.texts(conversation) == [
        "greet",
        "Hello from the script.",
        "another",
        "I do not know that one.",
    ]


def test_ctrl_c_cancels_the_turn_and_waits_for_its_end(
    running: Running, interrupted: subprocess.Popen[str]
) -> None:
    """Field case A-60: status 130, no traceback, the turn is recorded as cancelled."""
    conversation = read_until(interrupted, "text")[0]["conversation"]
    interrupted.send_signal(signal.SIGINT)
    output, errors = interrupted.communicate(timeout=60)
    assert json_lines(output)[-1]["body"]["outcome"] == "cancelled"
    assert interrupted.returncode == 130
    assert errors == "autolith: cancelling the turn; once more to leave at once\n"
    assert running.outcomes(conversation) == ["cancelled"]


def test_ctrl_c_ends_the_command_that_runs(running: Running, tmp_path: Path) -> None:
    """The command's process is gone when the prompt is back."""
    process = running.start(
        "run", "slumber", "--permissions", "full", "--workspace", str(tmp_path)
    )
    pid = int(
        until(lambda: (tmp_path / "pid.txt").exists() and (tmp_path / "pid.txt").read_text())
    )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not is_alive(pid)


def test_a_second_ctrl_c_leaves_at_once(running: Running) -> None:
    """Even while the engine cannot answer; the cancellation is not lost by it."""
    process = running.start("run", "endless", "--json")
    read_until(process, "text")
    supervisor, server = (running.status()[name] for name in ("supervisor", "server"))
    for pid in (supervisor, server):
        psutil.Process(pid).suspend()
    try:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "once more to leave at once" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    finally:
        for pid in (server, supervisor):
            psutil.Process(pid).resume()
        process.communicate()


def test_a_terminated_client_leaves_the_turn_alone(
    running: Running, interrupted: subprocess.Popen[str]
) -> None:
    """Status 143 and the way back; the turn goes on."""
    conversation = read_until(interrupted, "text")[0]["conversation"]
    interrupted.send_signal(signal.SIGTERM)
    _, errors = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 143
    assert errors == f"autolith: the turn goes on: autolith attach {conversation}\n"
    assert running.outcomes(conversation) == [None]
    assert running.run("cancel", conversation).stdout == "cancelling turn 1\n"
    until(lambda: running.outcomes(conversation) == ["cancelled"])


def test_messages_steer_and_queue_with_receipts(
    running: Running, interrupted: subprocess.Popen[str]
) -> None:
    """And a message that is sent again gets the receipt of the first time."""
    conversation = read_until(interrupted, "text")[0]["conversation"]
    steered = running.run("tell", conversation, "to the left").stdout.split()
    queued = running.run("tell", conversation, "greet", "--queue").stdout.split()
    assert steered[1:] == ["steers", "turn", "1"]
    assert queued[1:] == ["queued", "at", "1"]
    again = running.run("tell", conversation, "--message", queued[0], "--queue").stdout.split()
    assert again == queued
    assert json_lines(running.run("ls", "--json").stdout)[0]["state"] == "running"
    running.run("cancel", conversation)
    until(lambda: running.outcomes(conversation)[0] == "cancelled")
    # Steering that no boundary took runs before older follow-ups (domain reference 7.2).
    until(lambda: running.texts(conversation)[-1] == "Hello from the script.")
    assert running.texts(conversation)[1] == "to the left"


def test_a_question_is_answered_from_anywhere(running: Running, tmp_path: Path) -> None:
    """It is listed with its command, answered once, and then it is not open."""
    conversation = running.begun("greet", "--workspace", str(tmp_path))
    running.run("tell", conversation, "touch")
    until(lambda: "shell.run wants to run" in running.run("decide", conversation).stdout)
    listed = running.run("decide", conversation).stdout
    assert "    echo ran >> ran.txt; echo finished" in listed.splitlines()
    assert json_lines(running.run("ls", "--json").stdout)[0]["state"] == "waiting"
    answered = running.run("decide", conversation, "full")
    assert answered.stdout == "2.1.0 answered: full\n"
    until(lambda: running.outcomes(conversation)[-1] == "completed")
    assert (tmp_path / "ran.txt").read_text() == "ran\n"
    late = one_line(running.run("decide", conversation, "2.1.0", "full"), status=1)
    assert late == f"autolith: Question 2.1.0 of {conversation} is not open"
    assert one_line(running.run("decide", conversation, "deny"), status=1) == (
        "autolith: No question is open"
    )


def test_nothing_to_cancel_is_said(running: Running) -> None:
    """For the turn and for a job."""
    conversation = running.begun()
    assert one_line(running.run("cancel", conversation), status=1) == (
        "autolith: No turn is running"
    )
    assert one_line(running.run("cancel", conversation, "--job", "J9"), status=1) == (
        "autolith: Job J9 is not running"
    )


def test_configuration_holds_for_later_turns(running: Running) -> None:
    """The model's new name reaches the provider."""
    conversation = running.begun()
    told = running.run("configure", conversation, "--model", "other", "--permissions", "full")
    assert told.stdout == f"{conversation}: model other, permissions full\n"
    ended = running.run("run", "greet", "--conversation", conversation, "--json")
    started = [e for e in json_lines(ended.stdout) if e["kind"] == "attempt-started"]
    assert started[0]["body"]["model"] == "other"


def test_an_export_is_private_and_replaces_nothing_unasked(running: Running) -> None:
    """Markdown by default, the record as JSON on request."""
    conversation = running.begun()
    path = running.path("talk.md")
    path.unlink(missing_ok=True)
    assert running.run("export", conversation, "--output", str(path)).returncode == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert "### Answer\n\nHello from the script." in path.read_text()
    path.write_text("mine")
    refused = running.run("export", conversation, "--output", str(path))
    assert "exists; use --force to replace it" in one_line(refused, status=1)
    assert path.read_text() == "mine"
    forced = ["export", conversation, "--output", str(path), "--force", "--format", "json"]
    assert running.run(*forced).returncode == 0
    assert f'"id": "{conversation}"' in path.read_text()
    assert [p.name for p in running.workspace.glob(".talk*")] == []
    full = running.run("export", conversation, "--output", "/dev/full")
    assert one_line(full, status=1) == "autolith: No space left on device"


def test_ls_shows_a_line_each_and_nothing_of_others(running: Running) -> None:
    """The preview is the beginning of the first message."""
    conversation = running.begun("greet\nand  more")
    row = next(
        line for line in running.run("ls").stdout.splitlines() if line.startswith(conversation)
    )
    assert row.split()[0] == conversation
    assert " idle " in row
    assert row.endswith("greet and more")
