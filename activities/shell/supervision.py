"""The runner: claims one execution, supervises its command, writes the outcome.

It is a process of its own, in its own session, so that it survives the worker which
started it, and the subreaper of everything below it, so that nothing the command
starts can get away.  The standard library only, and few of its modules.
"""

import os
import resource
import select
import signal
import time
from collections.abc import Callable

from activities.shell import claim, process_control, processes, records
from activities.shell.capture_writer import CaptureWriter
from activities.shell.specification import Specification

LOG = "runner.log"
LONGEST_SLEEP = 3_600.0
WAKE_BYTES = 4_096
KILL_AGAIN = 0.05
"""A process that forks faster than it is killed is met again this soon."""
RESTORED = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGPIPE", "SIGXFSZ")
"""What the runner or Python ignores or handles; a command gets the defaults."""


def main(directory: str) -> None:
    """Leave a runner behind that serves *directory*; end as soon as the claim is settled."""
    settled, tell = os.pipe()
    if os.fork():
        os.close(tell)
        # Nothing comes when the runner died first; its words are on our standard error.
        os._exit(0 if os.read(settled, 1) else 1)
    os.close(settled)
    os.setsid()
    specification = Specification.load(directory)
    supervision = Supervision(directory, specification)
    is_ours = claim.take(directory)
    _detach(directory)
    os.write(tell, b".")
    os.close(tell)
    if is_ours:
        records.replace(directory, records.OUTCOME, supervision.run())
    os._exit(0)


def _detach(directory: str) -> None:
    """Let go of the starter's files; complaints go to a log beside the captures."""
    nothing = os.open(os.devnull, os.O_RDWR)
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    log = os.open(f"{directory}/{LOG}", flags, 0o600)
    for source, target in ((nothing, 0), (nothing, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)


class Supervision:
    """One command, its streams and everything that descends from it.

    Cancellation is SIGTERM to this process; it counts from construction on, also when
    it comes before the command was started.
    """

    def __init__(self, directory: str, specification: Specification) -> None:
        self._directory = directory
        self._spec = specification
        self._captures: list[CaptureWriter] = []
        self._command = 0
        self._status: int | None = None
        self._failure: str | None = None
        self._is_alone = True
        self._is_asked_to_end = self._is_cancelled = self._is_timed_out = False
        self._left = self._survivors = 0
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._cancel)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        process_control.adopt_orphans()

    def run(self) -> dict[str, object]:
        """Run the command to its end and return the outcome."""
        started = time.monotonic()
        if not self._is_asked_to_end:
            self._start()
        self._pump(lambda: self._has_ended or self._is_asked_to_end, self._spec.timeout)
        if self._has_ended:
            self._pump(self._is_quiet, self._spec.linger)
            self._left = len(processes.descendants(os.getpid())) if not self._is_alone else 0
        else:
            self._is_cancelled = self._is_asked_to_end
            self._is_timed_out = not self._is_cancelled
        self._end_all()
        self._pump(lambda: not self._open(), self._spec.linger)
        return self._outcome(time.monotonic() - started)

    @property
    def _has_ended(self) -> bool:
        return self._status is not None or self._failure is not None

    def _is_quiet(self) -> bool:
        return self._is_alone and not self._open()

    def _open(self) -> list[CaptureWriter]:
        return [capture for capture in self._captures if capture.is_open]

    def _cancel(self, _number: int, _frame: object) -> None:
        self._is_asked_to_end = True

    def _start(self) -> None:
        outputs = []
        for name in self._spec.streams:
            source, output = os.pipe()
            outputs.append(output)
            self._captures.append(CaptureWriter(self._directory, name, self._spec.limit, source))
        complaints, complain = os.pipe()
        runner = os.getpid()
        self._command = os.fork()
        if not self._command:
            self._become_command(runner, outputs, complain)
        self._is_alone = False
        for descriptor in (complain, *outputs):
            os.close(descriptor)
        # Closed by a successful exec; whatever comes through is the reason of a failure.
        self._failure = os.read(complaints, 4_096).decode(errors="replace") or None
        os.close(complaints)

    def _become_command(self, runner: int, outputs: list[int], complain: int) -> None:
        """Turn this child into the command.  Never returns."""
        try:
            os.setsid()
            process_control.die_with_parent(signal.SIGKILL)
            if os.getppid() != runner:
                os._exit(127)
            os.dup2(outputs[0], 1)
            os.dup2(outputs[-1], 2)
            for name in RESTORED:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.chdir(self._spec.directory)
            os.execve(  # noqa: S606 -- the argv may well be a shell; that is the caller's choice
                self._spec.argv[0], self._spec.argv, self._environment()
            )
        except (OSError, ValueError) as error:
            os.write(complain, str(error).encode(errors="replace"))
        finally:
            os._exit(127)

    def _environment(self) -> dict[bytes, bytes]:
        environment = dict(os.environb)
        environment.pop(b"LC_CTYPE", None)
        if self._spec.lc_ctype is not None:
            environment[b"LC_CTYPE"] = os.fsencode(self._spec.lc_ctype)
        return environment

    def _pump(self, is_done: Callable[[], bool], seconds: float | None) -> None:
        """Keep the streams flowing until *is_done* or *seconds* have passed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not is_done():
            left = LONGEST_SLEEP if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return
            self._wait(min(left, LONGEST_SLEEP))

    def _wait(self, seconds: float) -> None:
        sources = {capture.source: capture for capture in self._open()}
        ready, _, _ = select.select([self._woken, *sources], [], [], seconds)
        for source in ready:
            if source in sources:
                sources[source].pump()
            else:
                os.read(self._woken, WAKE_BYTES)
                self._reap()

    def _reap(self) -> None:
        """Collect whoever has ended.  Without children there are no descendants either."""
        while not self._is_alone:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._is_alone = True
                return
            if not pid:
                return
            if pid == self._command:
                self._status = os.waitstatus_to_exitcode(status)

    def _end_all(self) -> None:
        """End every descendant: politely, then not."""
        if self._is_alone:
            return
        for process in processes.descendants(os.getpid()):
            # The sandbox would take the command down at once, without its grace.
            if not (self._spec.sandboxed and process.pid == self._command):
                _send(process.pid, signal.SIGTERM)
        self._pump(lambda: self._is_alone, self._spec.grace)
        deadline = time.monotonic() + self._spec.patience
        while not self._is_alone and time.monotonic() < deadline:
            # A group is killed in one step, so that not even a fork bomb outruns it.
            for group in {process.group for process in processes.descendants(os.getpid())}:
                _send(-group, signal.SIGKILL)
            self._pump(lambda: self._is_alone, KILL_AGAIN)
        self._survivors = 0 if self._is_alone else len(processes.descendants(os.getpid()))

    def _outcome(self, seconds: float) -> dict[str, object]:
        for capture in self._open():
            capture.close()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "status": self._status,
            "timeout": self._spec.timeout if self._is_timed_out else None,
            "cancelled": self._is_cancelled,
            "failure": self._failure,
            "left": self._left,
            "survivors": self._survivors,
            "cpu_microseconds": round((usage.ru_utime + usage.ru_stime) * 1_000_000),
            "real_microseconds": round(seconds * 1_000_000),
            "streams": {capture.name: capture.report() for capture in self._captures},
        }


def _send(target: int, number: int) -> None:
    """Signal one process, or a group when negative; it may just have ended."""
    try:
        os.kill(target, number)
    except ProcessLookupError:
        return
