"""What a failure looks like from outside: one line on standard error and a status.

No traceback reaches a person who did not ask for one.  Errors are recognised
without importing their modules, because the door to ``--help`` must stay light.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable

import click

from cli.terminal.neutral import neutralise

SUCCESS = 0
FAILURE = 1
USAGE = 64
"""Unknown subcommand or bad option: message on standard error, status 64."""
UNEXPECTED = 70
INTERRUPTED = 130
"""Cancelled by Ctrl-C."""
BROKEN_PIPE = 141
"""The reader went away: nothing is said, as for a program that SIGPIPE ends."""
TERMINATED = 143

STANDARD_STREAMS = ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"))


def guarded(command: Callable[[], object], *, debug: Callable[[], bool]) -> int:
    """Run *command* and return the exit status, having explained any failure.

    A command may return its own status; None is success.  Output is flushed here,
    so that a full disk or a closed pipe is a failure of the command.
    """
    plug_closed_streams()
    _tolerate_any_text()
    try:
        status = command()
        sys.stdout.flush()
    except SystemExit as leaving:
        return _flushed(_status_of(leaving))
    except BaseException as error:  # noqa: BLE001 -- the last frame before the person
        return _explained(_only_cause(error), debug=debug())
    return status if isinstance(status, int) else SUCCESS


def plug_closed_streams() -> None:
    """Point closed standard descriptors at nothing.

    Otherwise the next file that is opened, perhaps the store, would become
    standard output (``autolith models >&-``).
    """
    for descriptor, name, mode in STANDARD_STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            setattr(sys, name, os.fdopen(descriptor, mode))


def _tolerate_any_text() -> None:
    """Write what the locale's encoding cannot hold as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(message: str) -> None:
    """Print one line on standard error, as far as that is possible."""
    line = neutralise(" ".join(message.split()))
    try:
        click.echo(f"autolith: {line}", err=True)
    except OSError:
        _discard(2)


def _explained(error: BaseException, *, debug: bool) -> int:
    status, message = _account(error)
    if status == BROKEN_PIPE:
        _discard(1)
        return status
    if debug:
        traceback.print_exception(error)
    if message:
        complain(message)
    # Standard output may be what failed: that has been said then.
    return _flushed(status, says_why=not message)


def _account(error: BaseException) -> tuple[int, str]:
    """Return the exit status and the line for *error*."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code, ""
    if isinstance(error, KeyboardInterrupt | click.Abort | EOFError):
        return INTERRUPTED, ""
    if isinstance(error, click.ClickException):
        return _account_of_click(error)
    if isinstance(error, OSError):
        return _account_of_system(error)
    if _is_our_own(error):
        return FAILURE, str(error)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return UNEXPECTED, f"unexpected failure: {said}; run with --debug to see where"


def _account_of_click(error: click.ClickException) -> tuple[int, str]:
    said = error.format_message()
    if not isinstance(error, click.UsageError):
        return FAILURE, said
    place = error.ctx.command_path if error.ctx else "autolith"
    return USAGE, f"{said.rstrip('.')} (see '{place} --help')"


def _account_of_system(error: OSError) -> tuple[int, str]:
    if error.errno == errno.EPIPE:
        return BROKEN_PIPE, ""
    reason = error.strerror or str(error) or type(error).__name__
    return FAILURE, f"{error.filename}: {reason}" if error.filename else reason


def _is_our_own(error: BaseException) -> bool:
    # An AutolithError can only have been raised if its module is loaded.
    module = sys.modules.get("activities.errors")
    return module is not None and isinstance(error, module.AutolithError)


def _only_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _status_of(leaving: SystemExit) -> int:
    if leaving.code is None:
        return SUCCESS
    if isinstance(leaving.code, int):
        return leaving.code
    complain(str(leaving.code))
    return FAILURE


def _flushed(status: int, *, says_why: bool = True) -> int:
    """Flush standard output and return *status*, or the status of failing at that."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(1)
        flushing, message = _account_of_system(error)
        if message and says_why:
            complain(message)
        return status or flushing
    return status


def _discard(descriptor: int) -> None:
    """Send what is still buffered nowhere, so that nothing is said at shutdown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
