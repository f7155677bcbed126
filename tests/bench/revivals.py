"""Figures of revival: what a killed worker costs."""

import asyncio
import statistics

from tests.bench.figure import Figure, at_least, at_most
from tests.bench.stage import Stage
from workflows.contracts.event import EventKind

KILLS = 7
COMMANDS = 3


async def streams(stage: Stage) -> list[Figure]:
    """SIGKILL during a stream until the next attempt is sent, supervisor restart included."""
    record = await stage.create()
    await stage.turn(record, "one tool", is_new=True)
    seconds = []
    for _ in range(KILLS):
        event = await stage.until(record, "endless", EventKind.TEXT)
        killed = stage.kill_worker()
        again = await stage.event(
            record,
            event.seq,
            lambda found: found.kind is EventKind.ATTEMPT_STARTED and found.body["attempt"] == 2,
        )
        seconds.append(again.at - killed)
        await stage.conversations.cancel(record)
        await stage.event(record, again.seq, lambda found: found.kind is EventKind.TURN_ENDED)
    return [
        at_most("revival_median", statistics.median(seconds), "s", 3),
        at_most("revival_longest", max(seconds), "s", 6),
    ]


async def commands(stage: Stage) -> list[Figure]:
    """SIGKILL during ``shell.run``: each command is found again, and ran once."""
    record = await stage.create()
    await stage.turn(record, "one tool", is_new=True)
    ran = stage.workspace / "ran.txt"
    adopted = 0
    for number in range(1, COMMANDS + 1):
        event = await stage.until(record, "command", EventKind.CALL)
        while not ran.exists() or len(ran.read_text().split()) < number:
            await asyncio.sleep(0.01)
        stage.kill_worker()
        resumed = await stage.event(
            record, event.seq, lambda found: found.kind is EventKind.CALL_RESUMED
        )
        result = await stage.event(record, event.seq, lambda found: found.kind is EventKind.RESULT)
        once = len(ran.read_text().split()) == number
        adopted += resumed.body["resumption"] == "adopt" and result.body["status"] == "ok" and once
        await stage.event(record, result.seq, lambda found: found.kind is EventKind.TURN_ENDED)
    return [at_least("adoption", adopted / COMMANDS, "adopted / killed", 1.0)]
