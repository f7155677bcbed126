"""Figures of streams: the first text at the client, against a direct stream."""

import statistics
import time

import httpx

from tests.bench.figure import Figure, at_most
from tests.bench.stage import Stage
from workflows.contracts.event import EventKind

SAMPLES = 25


async def first_delta(stage: Stage) -> list[Figure]:
    """How much later than over bare HTTP the first piece of text is seen."""
    record = await stage.create()
    await stage.turn(record, "one tool", is_new=True)
    added = []
    async with httpx.AsyncClient() as client:
        await _direct(client, stage.provider.endpoint)
        for _ in range(SAMPLES):
            direct = await _direct(client, stage.provider.endpoint)
            started = time.perf_counter()
            event = await stage.until(record, "stream", EventKind.TEXT)
            product = time.perf_counter() - started
            await stage.event(record, event.seq, lambda found: found.kind is EventKind.TURN_ENDED)
            added.append(product - direct)
    return [at_most("first_delta", statistics.median(added) * 1000, "ms added", 120)]


async def _direct(client: httpx.AsyncClient, endpoint: str) -> float:
    body = {
        "model": "scripted",
        "stream": True,
        "messages": [{"role": "user", "content": "stream"}],
    }
    started = time.perf_counter()
    async with client.stream("POST", f"{endpoint}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if '"content":"It' in line.replace(": ", ":"):
                seconds = time.perf_counter() - started
        return seconds
