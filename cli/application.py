"""What every command shares: where things are, and how to speak to the person.

Nothing is opened before it is asked for, so that a command which needs neither
the store nor the engine pays for neither.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from activities.configuration.locations import Roots


@dataclass
class Application:
    """Carried as click's context object."""

    address: str | None = None
    """An existing Temporal cluster; None means the embedded runtime."""
    debug: bool = False

    @cached_property
    def roots(self) -> "Roots":
        """Where configuration, data and state of this user live."""
        from activities.configuration.locations import Roots  # noqa: PLC0415 -- lazy

        return Roots.from_environment()

    @cached_property
    def console(self) -> "Console":
        """The console for results, on standard output."""
        from cli.terminal.console import output  # noqa: PLC0415 -- rich is heavy

        return output()

    @cached_property
    def errors(self) -> "Console":
        """The console for progress and complaints, on standard error."""
        from cli.terminal.console import complaints  # noqa: PLC0415 -- rich is heavy

        return complaints()
