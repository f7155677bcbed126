"""Figures of turns: latency, throughput and CPU against the floor, and a long turn."""

import asyncio
import statistics
import time

from activities.store.conversations import ConversationRecord
from tests.bench.figure import Figure, at_least, at_most
from tests.bench.history import size_of
from tests.bench.stage import Stage, cpu_seconds
from workflows.contracts.key import TurnKey
from workflows.policy import identity

SAMPLES = 40
CONVERSATIONS = 16
TURNS_EACH = 6
LONG_TURN = 100


async def latency(stage: Stage) -> list[Figure]:
    """One tool call, zero think time; product and floor alternate."""
    record = await _warm(stage)
    product, floor = [], []
    for _ in range(SAMPLES):
        product.append(await stage.turn(record, "one tool"))
        floor.append(await stage.floor_turn())
    ratio = statistics.median(product) / statistics.median(floor)
    return [
        at_most("turn_latency", ratio, "x floor", 1.6),
    ]


async def throughput(stage: Stage) -> list[Figure]:
    """Sixteen conversations at once, and the CPU that their turns cost the worker."""
    records = [await _warm(stage) for _ in range(CONVERSATIONS)]
    rates: dict[str, list[float]] = {"product": [], "floor": []}
    costs: dict[str, list[float]] = {"product": [], "floor": []}
    turns = CONVERSATIONS * TURNS_EACH
    for _ in range(2):
        for name, process in (("floor", stage.floor), ("product", stage.worker)):
            before, started = cpu_seconds(process), time.perf_counter()
            if name == "floor":
                await asyncio.gather(*(_floor_turns(stage) for _ in records))
            else:
                await asyncio.gather(*(_turns(stage, record) for record in records))
            rates[name].append(turns / (time.perf_counter() - started))
            costs[name].append((cpu_seconds(process) - before) / turns)
    rate = statistics.mean(rates["product"]) / statistics.mean(rates["floor"])
    cost = statistics.mean(costs["product"]) / statistics.mean(costs["floor"])
    return [
        at_least("throughput_16", rate, "x floor", 0.6),
        at_most("worker_cpu", cost, "x floor", 2),
    ]


async def long_turn(stage: Stage) -> list[Figure]:
    """A hundred sequential calls with 5 KB outputs in one turn."""
    record = await _warm(stage)
    floor = await stage.floor_turn(2 * LONG_TURN)
    product = await stage.turn(record, "many tools")
    key = TurnKey(conversation=record.id, turn=2)
    size = await size_of(stage.plain, identity.turn(key))
    return [
        at_most("hundred_calls", product / floor, "x floor", 2),
        at_most("hundred_calls_history", size / 1e6, "MB", 0.5),
    ]


async def _warm(stage: Stage) -> ConversationRecord:
    record = await stage.create()
    await stage.turn(record, "one tool", is_new=True)
    await stage.floor_turn()
    return record


async def _turns(stage: Stage, record: ConversationRecord) -> None:
    for _ in range(TURNS_EACH):
        await stage.turn(record, "one tool")


async def _floor_turns(stage: Stage) -> None:
    for _ in range(TURNS_EACH):
        await stage.floor_turn()
