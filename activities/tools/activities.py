"""The tool port: accepted calls, and detached commands that are watched as jobs."""

from temporalio import activity

from activities.errors import AutolithError, StoreUnavailable
from activities.failures import as_failure
from activities.tools.jobs import JobWatcher
from activities.tools.runner import CallRunner
from workflows.contracts.job import JobOutcome, JobStart
from workflows.contracts.tool import CallReport, ToolOrder
from workflows.ports.tools import ToolPort


class Tools(ToolPort):
    """Routes each order; the work is done by the runner and the watcher."""

    def __init__(self, runner: CallRunner, watcher: JobWatcher) -> None:
        self._runner = runner
        self._watcher = watcher

    @activity.defn
    async def run_tool(self, order: ToolOrder) -> CallReport:
        """Run one call at most once as its effect class demands, and store its result."""
        return await self._runner.run(order)

    @activity.defn
    async def watch_job(self, start: JobStart) -> JobOutcome:
        """Watch one detached execution until it ends, and store its outcome."""
        try:
            return await self._watcher.watch(start)
        except StoreUnavailable:
            # A full disk or a lock passes; the command is found again by the next attempt.
            raise
        except AutolithError as error:
            raise as_failure(error) from error
