"""Measure, print a table, and write ``.bench/latest.json``."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from tests.bench import history, processes, revivals, streams, turns
from tests.bench.figure import Figure, save, show
from tests.bench.stage import Stage, open_stage

Measure = Callable[[Stage], Awaitable[list[Figure]]]
MeasureAlone = Callable[[], Awaitable[list[Figure]]]

ALONE: dict[tuple[str, ...], MeasureAlone] = {
    ("help", "help_heavy_imports"): processes.help_text,
    ("cold_run",): processes.cold_run,
    ("flood_memory", "flood_count_error"): processes.flood,
}
ON_STAGE: dict[tuple[str, ...], Measure] = {
    ("turn_latency",): turns.latency,
    ("throughput_16", "worker_cpu"): turns.throughput,
    ("hundred_calls", "hundred_calls_history"): turns.long_turn,
    ("history_per_turn", "history_growth"): history.growth,
    ("first_delta",): streams.first_delta,
    ("adoption",): revivals.commands,
    ("revival_median", "revival_longest"): revivals.streams,
}
NAMES = [name for names in (*ALONE, *ON_STAGE) for name in names]
RESULTS = Path(__file__).parents[2] / ".bench" / "latest.json"


async def measure(only: str | None, console: Console) -> list[Figure]:
    """Return the figures, all or the one called *only*."""
    figures: list[Figure] = []
    for names, alone in ALONE.items():
        if only is None or only in names:
            console.print(f"[dim]{', '.join(names)} ...[/]")
            figures += await alone()
    chosen = {names: run for names, run in ON_STAGE.items() if only is None or only in names}
    if chosen:
        async with open_stage() as stage:
            for names, run in chosen.items():
                console.print(f"[dim]{', '.join(names)} ...[/]")
                figures += await run(stage)
    return [figure for figure in figures if only in (None, figure.name)]


def main() -> int:
    """Run ``make bench``; the status tells whether every figure holds."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", choices=NAMES, metavar="NAME")
    console = Console()
    figures = asyncio.run(measure(parser.parse_args().only, console))
    show(figures, console)
    save(figures, RESULTS)
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # The SDK may abort in the interpreter's finalisation (temporal facts 6).
    os._exit(status)
