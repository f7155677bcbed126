"""Watch detached commands as jobs."""

import asyncio
from pathlib import Path

from sqlalchemy import Connection

from activities.attempt import attempt
from activities.store import jobs
from activities.store.database import Database
from activities.tools.shell import JobEnd, watch_execution
from workflows.contracts.job import JobOutcome, JobStart, JobState

CANCELLED = JobEnd(JobState.CANCELLED, "The job was cancelled; its processes were ended.")


class JobWatcher:
    """Waits for the end of detached commands and writes it down."""

    def __init__(self, database: Database, *, state_root: Path) -> None:
        self._database = database
        self._state_root = state_root

    async def watch(self, start: JobStart) -> JobOutcome:
        """Watch one command until it ends; a cancelled watch ends the command."""
        return await attempt(lambda let_go: self._watch(start, let_go))

    async def _watch(self, start: JobStart, let_go: asyncio.Event) -> JobOutcome:
        try:
            end = await watch_execution(
                start.execution,
                start.conversation,
                state_root=self._state_root,
                database=self._database,
                left_running=let_go,
            )
        except asyncio.CancelledError:
            if let_go.is_set():
                raise
            end = CANCELLED
        return await self._keep(start, end)

    async def _keep(self, start: JobStart, end: JobEnd) -> JobOutcome:
        def store(tx: Connection) -> JobState:
            return jobs.end(tx, start.conversation, start.job, end.state, end.text)

        state = await self._database.write(store)
        return JobOutcome(conversation=start.conversation, job=start.job, state=state)
