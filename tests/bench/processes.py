"""Figures of processes: the help, a cold start, and a flood of output."""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from activities.provider.scripted.reader import parse_script
from activities.provider.scripted.server import serve
from activities.shell.executions import Executions
from activities.shell.invocation import Command, Invocation, executions_root
from activities.store.database import Database
from tests.bench.figure import Figure, at_most
from tests.bench.stage import environment, roots_in
from worker.embedded.stop import stop_runtime
from workflows.policy.captures import CaptureLimits

DOOR = Path(__file__).parents[2] / "autolith.py"
FLOOD_BYTES = 1_000_000_000
HEAVY = ("temporalio", "sqlalchemy", "rich", "prompt_toolkit", "pydantic")


async def help_text() -> list[Figure]:
    """``autolith --help``: wall time, and what it must not import."""
    seconds = []
    for _ in range(9):
        started = time.perf_counter()
        subprocess.run([sys.executable, DOOR, "--help"], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    code = (
        "import sys, runpy\nsys.argv = ['autolith', '--help']\n"
        f"try: runpy.run_path({str(DOOR)!r}, run_name='__main__')\n"
        f"except SystemExit: pass\nprint([m for m in {HEAVY} if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    imported = len(json.loads(shown.stdout.splitlines()[-1].replace("'", '"')))
    return [
        at_most("help", statistics.median(seconds) * 1000, "ms", 150),
        at_most("help_heavy_imports", imported, "modules", 0),
    ]


async def cold_run() -> list[Figure]:
    """``autolith run`` with nothing running, until its request arrives."""
    with tempfile.TemporaryDirectory(prefix="autolith-bench-") as place:
        roots = roots_in(Path(place))
        async with serve(parse_script('(:version 1 :default (:text "hi"))')) as provider:
            environ = {**environment(provider.endpoint), **roots.environment()}
            command = [sys.executable, str(DOOR), "run", "--model", "scripted", "hello"]
            started = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                *command, env=environ, cwd=place, stdout=asyncio.subprocess.DEVNULL
            )
            try:
                async with asyncio.timeout(60):
                    while not provider.requests:
                        await asyncio.sleep(0.005)
                seconds = time.perf_counter() - started
                await process.wait()
            finally:
                await stop_runtime(roots)
    return [at_most("cold_run", seconds, "s", 5)]


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


async def flood() -> list[Figure]:
    """A command that prints 1 GB: the runner's memory, and exact counts."""
    largest = 0
    with tempfile.TemporaryDirectory(prefix="autolith-bench-") as place:
        root = Path(place)
        database = Database.open(f"sqlite:///{root}/store.db")
        invocation = Invocation("flood", "c", state_root=root, database=database, delivered=True)
        argv = ["/bin/sh", "-c", f"head -c {FLOOD_BYTES} /dev/zero"]
        await invocation.start(Command(argv, root, timeout=600.0), CaptureLimits())
        executions = Executions(executions_root(root))
        while (standing := executions.look("flood")).outcome is None:
            if standing.owner is not None:
                largest = max(largest, _resident(standing.owner.pid))
            await asyncio.sleep(0.02)
        database.close()
    outcome = standing.outcome
    observed = sum(stream.observed for stream in outcome.streams.values())
    return [
        at_most("flood_memory", largest / 1e6, "MB", 40),
        at_most("flood_count_error", abs(observed - FLOOD_BYTES), "bytes", 0),
    ]
