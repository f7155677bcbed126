"""One figure: what was measured, what was promised, and whether it holds."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """A measured value against its reach."""

    name: str
    value: float
    unit: str
    reach: str
    holds: bool


def at_most(name: str, value: float, unit: str, reach: float) -> Figure:
    """Return a figure that must not exceed *reach*."""
    return Figure(name, round(value, 4), unit, f"<= {reach:g}", value <= reach)


def at_least(name: str, value: float, unit: str, reach: float) -> Figure:
    """Return a figure that must reach *reach*."""
    return Figure(name, round(value, 4), unit, f">= {reach:g}", value >= reach)


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print the figures as a table."""
    table = Table("figure", "value", "unit", "reach", "holds")
    for figure in figures:
        verdict = "yes" if figure.holds else "[bold red]NO[/]"
        table.add_row(figure.name, f"{figure.value:g}", figure.unit, figure.reach, verdict)
    console.print(table)


def save(figures: Sequence[Figure], path: Path) -> None:
    """Write the figures as JSON."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")
