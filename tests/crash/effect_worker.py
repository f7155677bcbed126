"""The product's own worker with a few tools besides, of kinds that it does not ship.

``effect_worker.py ADDRESS``.  Everything else is real: the ports, the journal, the
recovery and the door.
"""

import asyncio
import sys
from typing import ClassVar

from activities.configuration.locations import Roots
from activities.tools.registry import ToolRegistry
from activities.tools.tool import Arguments, Tool, ToolContext, ToolResult
from worker import composition
from worker.main import leave, main
from workflows.contracts.tool import EffectClass

POLL = 0.02


class Labelled(Arguments):
    """What the tools take."""

    label: str


class Effect(Tool[Labelled]):
    """Leaves a line behind: begins when ``do-LABEL`` is there, ends when ``end-LABEL`` is."""

    name = "test.effect"
    description = "Leave a line behind."
    effect: ClassVar[EffectClass] = EffectClass.EFFECT
    arguments = Labelled

    def label(self, arguments: Labelled) -> str:
        """Return the label."""
        return arguments.label

    async def run(self, arguments: Labelled, context: ToolContext) -> ToolResult:
        """Wait, leave the line, wait, and say so."""
        await _until_there(context, f"do-{arguments.label}")
        with (context.workspace / "effects").open("a") as effects:
            effects.write(f"{arguments.label}\n")
        await _until_there(context, f"end-{arguments.label}")
        return ToolResult(f"left {arguments.label}")


class Keyed(Effect):
    """The same, for those who may be repeated."""

    name = "test.keyed"
    effect = EffectClass.KEYED


class Observe(Effect):
    """The same, as if it changed nothing."""

    name = "test.observe"
    effect = EffectClass.OBSERVE


class Flood(Effect):
    """Says more than anybody wants to hear."""

    name = "test.flood"
    effect = EffectClass.OBSERVE

    async def run(self, arguments: Labelled, context: ToolContext) -> ToolResult:  # noqa: ARG002 -- the signature
        """Return five million characters."""
        return ToolResult(f"first {'x' * 5_000_000} last")


class Defect(Effect):
    """Has a mistake in it."""

    name = "test.defect"
    effect = EffectClass.OBSERVE

    async def run(self, arguments: Labelled, context: ToolContext) -> ToolResult:  # noqa: ARG002 -- the signature
        """Raise what no tool should."""
        raise ZeroDivisionError(arguments.label)


async def _until_there(context: ToolContext, name: str) -> None:
    while not (context.workspace / name).exists():
        await asyncio.sleep(POLL)


def _all_tools(roots: Roots) -> ToolRegistry:
    shipped = _shipped(roots)
    named = (shipped.resolve(declaration.name) for declaration in shipped.declarations)
    return ToolRegistry([*named, Effect(), Keyed(), Observe(), Flood(), Defect()])


_shipped = composition.tool_registry

if __name__ == "__main__":
    # The composition root has no other seam, and needs none for anybody but this file.
    composition.tool_registry = _all_tools
    leave(main(sys.argv[1], Roots.of()))
