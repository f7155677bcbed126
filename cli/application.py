"""What every command shares: where things are, and how to speak to the person.

Nothing is opened before it is asked for, so that a command which needs neither
the store nor the engine pays for neither.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from activities.configuration.locations import Roots
    from activities.store.database import Database
    from cli.conversations import Conversations

PATIENCE = 60.0
"""How many seconds a command without a screen waits for the engine to come back."""


@dataclass
class Application:
    """Carried as click's context object."""

    address: str | None = None
    """An existing Temporal cluster; None means the embedded runtime."""
    debug: bool = False

    @cached_property
    def roots(self) -> "Roots":
        """Where configuration, data and state of this user live; created when missing."""
        from activities.configuration.locations import Roots  # noqa: PLC0415 -- lazy

        roots = Roots.of(os.environ)
        roots.create()
        return roots

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

    @contextmanager
    def store(self) -> "Iterator[Database]":
        """Open the store for a while."""
        from activities.configuration.locations import store_url  # noqa: PLC0415 -- lazy
        from activities.store.database import Database  # noqa: PLC0415 -- SQLAlchemy is heavy

        database = Database.open(store_url(self.roots.data, os.environ))
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def conversations(
        self,
        *,
        patience: float | None = PATIENCE,
        on_waiting: Callable[[str], None] | None = None,
    ) -> "Iterator[Conversations]":
        """Open the store, and the engine when it is first needed.

        *patience* bounds how long an engine that went away is waited for; *on_waiting*
        hears why, and the empty string when it is back.
        """
        from cli.conversations import Conversations  # noqa: PLC0415 -- temporalio is heavy
        from cli.engine import Engine  # noqa: PLC0415 -- temporalio is heavy

        with self.store() as database:
            engine = Engine(
                self.roots,
                self.address,
                patience=patience,
                on_waiting=on_waiting or Reconnecting(self.errors).say,
            )
            yield Conversations(database, engine, self.roots)


@dataclass
class Reconnecting:
    """Says on standard error that the engine is away: one plain line for each phase."""

    console: "Console"
    is_away: bool = False

    def say(self, reason: str) -> None:
        """Take *reason* why the engine is away; empty when it is back."""
        if bool(reason) is self.is_away:
            return
        self.is_away = bool(reason)
        self.console.print("reconnecting ..." if reason else "connected again", style="dim")
