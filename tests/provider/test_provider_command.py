"""``autolith provider serve`` prints its address, serves, and ends without a word."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import httpx
import pytest

from activities.provider.chat_completions import ChatCompletions
from tests.provider.asking import PROMPT, ask

ROOT = Path(__file__).parents[2]


async def _start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "autolith",
        "provider",
        "serve",
        *arguments,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def _fails(*arguments: str) -> tuple[int | None, str]:
    process = await _start(*arguments)
    async with asyncio.timeout(60):
        out, complaint = await process.communicate()
    assert out == b""
    return process.returncode, complaint.decode()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, ending: signal.Signals) -> None:
    """The first line is the address that Autolith takes; the end is no error."""
    script, log = tmp_path / "s.sexp", tmp_path / "log"
    script.write_text('(:version 1 :default (:text "hello"))')
    process = await _start("--script", str(script), "--log", str(log))
    assert process.stdout is not None
    async with asyncio.timeout(60):
        endpoint = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(trust_env=False) as client:
            adapter = ChatCompletions("x", f"{endpoint}/chat/completions", None, client)
            assert (await ask(adapter, PROMPT)).answer.text == "hello"
            process.send_signal(ending)
            out, complaint = await process.communicate()
    assert (process.returncode, out, complaint) == (0, b"", b"")
    assert json.loads(log.read_text().splitlines()[0])["request"] == 1


async def test_mistakes_are_one_clear_line(tmp_path: Path) -> None:
    """Status 1 for what cannot be done, 64 for how it was asked."""
    script = tmp_path / "s.sexp"
    script.write_text("(:version 1 :replies ((:txt 1)))")
    missing = tmp_path / "none.sexp"
    good = tmp_path / "good.sexp"
    good.write_text("(:version 1)")
    running = await _start("--script", str(good))
    assert running.stdout is not None
    async with asyncio.timeout(60):
        port = str(httpx.URL((await running.stdout.readline()).decode().strip()).port)
    try:
        failures = [
            await _fails("--script", str(script)),
            await _fails("--script", str(missing)),
            await _fails("--script", str(good), "--port", port),
            await _fails("--script", str(good), "--log", str(tmp_path / "none" / "log")),
            await _fails("--script", str(good), "--port", "99999999"),
            await _fails(),
        ]
    finally:
        running.terminate()
        await running.communicate()
    assert [status for status, _ in failures] == [1, 1, 1, 1, 64, 64]
    for _, complaint in failures:
        assert complaint.count("\n") == 1, complaint
        assert complaint.startswith("autolith: ")
    assert "reply 1: :txt is unknown" in failures[0][1]
    assert f"Port {port} of 127.0.0.1 is in use" in failures[2][1]
