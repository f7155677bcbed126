"""What the runner is asked to do: one record, written once, without any secret.

The environment is not part of it: the runner is started with the very environment
that the command gets, so that nothing of it lies on a disk.
"""

from activities.shell import records

COMBINED = ("output",)
SEPARATE = ("stdout", "stderr")


class Specification:
    """One command and its limits.  Plain and light: the runner reads it too."""

    def __init__(  # noqa: PLR0913 -- one record, all by keyword
        self,
        *,
        argv: list[str],
        directory: str,
        timeout: float | None,
        limit: int,
        grace: float,
        linger: float,
        patience: float,
        separate: bool = False,
        sandboxed: bool = False,
        lc_ctype: str | None = None,
    ) -> None:
        self.argv = argv
        self.directory = directory
        self.timeout = timeout
        self.limit = limit
        """The largest size of each stream's capture file."""
        self.grace = grace
        self.linger = linger
        self.patience = patience
        self.separate = separate
        self.sandboxed = sandboxed
        """Whether the direct child is the sandbox and not yet the command."""
        self.lc_ctype = lc_ctype
        """Python coerces a C locale in its own environment (PEP 538); this undoes it."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Name the captures: one in order of arrival, or one for each stream."""
        return SEPARATE if self.separate else COMBINED

    def save(self, directory: str) -> None:
        """Write the record, unless an earlier attempt has written it."""
        records.publish(directory, records.SPEC, vars(self), durable=False)

    @classmethod
    def load(cls, directory: str) -> "Specification":
        """Return what is written in *directory*."""
        return cls(**(records.read(directory, records.SPEC) or {}))  # type: ignore[arg-type] # JSON
