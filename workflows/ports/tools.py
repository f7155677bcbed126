"""Tools and detached commands."""

from abc import ABC, abstractmethod

from temporalio import activity

from workflows.contracts.job import JobOutcome, JobStart
from workflows.contracts.tool import CallReport, ToolOrder


class ToolPort(ABC):
    """Tool execution on the host of the workspace.  See :mod:`activities.tools.runner`."""

    @activity.defn
    @abstractmethod
    async def run_tool(self, order: ToolOrder) -> CallReport:
        """Run one call at most once as its effect class demands, and store its result."""

    @activity.defn
    @abstractmethod
    async def watch_job(self, start: JobStart) -> JobOutcome:
        """Watch one detached execution until it ends, and store its outcome."""
