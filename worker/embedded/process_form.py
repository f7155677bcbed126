"""A process as the s-expression ``(:pid 4711 :started 812345 :boot "...")``."""

from pathlib import Path

from activities.configuration.forms import Form, Keyword
from activities.configuration.properties import as_integer, as_text, properties
from worker.embedded.process import Process


def process_form(process: Process) -> Form:
    """Return *process* as a form."""
    return (
        *(Keyword("pid"), process.pid),
        *(Keyword("started"), process.started),
        *(Keyword("boot"), process.boot),
    )


def as_process(form: Form, *, path: Path | None = None) -> Process:
    """Return the process that *form* describes.

    Raises:
        ConfigurationError: it describes none.
    """
    values = properties(form, path=path)
    return Process(
        as_integer(values, "pid"), as_integer(values, "started"), as_text(values, "boot")
    )
