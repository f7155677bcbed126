"""Watch detached commands as jobs."""

import asyncio

from sqlalchemy import Connection

from activities.attempt import attempt
from activities.shell.watch import Watched, watch_execution
from activities.store import jobs
from activities.store.database import Database
from workflows.contracts.job import JobOutcome, JobStart


class JobWatcher:
    """Watches one detached execution at a time, for as long as it takes."""
