"""The jobs of a conversation: what still runs, and what the model has yet to hear."""

from collections.abc import Sequence

from workflows.contracts.job import JobOutcome, JobRecord, JobState


class JobLedger:
    """Jobs that run, or ended without the model having been told."""

    def __init__(self, records: Sequence[JobRecord]) -> None:
        self._records = {record.job: record for record in records}

    @property
    def records(self) -> tuple[JobRecord, ...]:
        """Every job that is not settled yet, oldest first."""
        return tuple(self._records.values())

    @property
    def owed(self) -> tuple[str, ...]:
        """Jobs that ended and that the next turn has to mention."""
        ended = (record for record in self.records if record.state is not JobState.RUNNING)
        return tuple(record.job for record in ended)

    def begin(self, record: JobRecord) -> None:
        """Remember a job.  Its end may have been heard first."""
        self._records.setdefault(record.job, record)

    def end(self, outcome: JobOutcome) -> bool:
        """Note the end of a job and return whether that is news."""
        record = self._records.get(outcome.job, JobRecord(job=outcome.job, execution=""))
        if record.state is not JobState.RUNNING:
            return False
        self._records[outcome.job] = record.model_copy(update={"state": outcome.state})
        return True

    def is_running(self, job: str) -> bool:
        """Return whether *job* runs."""
        record = self._records.get(job)
        return record is not None and record.state is JobState.RUNNING

    def settle(self, delivered: Sequence[str]) -> None:
        """Forget ended jobs that the model has been told about."""
        for job in delivered:
            if job in self._records and not self.is_running(job):
                del self._records[job]
