"""Jobs: detached commands, their outcome, and the notice for the model."""

import time

from sqlalchemy import ColumnElement, Connection, select, update

from activities.store.events import Entry, append
from activities.store.insertion import insert_once
from activities.store.schema import JOBS
from workflows.contracts.base import Contract
from workflows.contracts.event import EventKind
from workflows.contracts.job import JobState


class JobNote(Contract):
    """One job as the store knows it."""

    job: str
    execution: str
    label: str
    started: float
    ended: float | None = None
    state: JobState | None = None
    text: str | None = None


def begin(tx: Connection, conversation: str, job: str, execution: str, label: str) -> None:
    """Record a job that was handed off, and tell the screens."""
    row = {
        "conversation": conversation,
        "job": job,
        "execution": execution,
        "label": label,
        "started": time.time(),
    }
    if insert_once(tx, JOBS, row):
        append(tx, conversation, [Entry(EventKind.JOB_STARTED, {"job": job, "label": label})])


def end(tx: Connection, conversation: str, job: str, state: JobState, text: str) -> JobState:
    """Record a job's one outcome and return what is recorded."""
    values = {"ended": time.time(), "state": state.value, "text": text}
    open_ = _at(conversation, job) & JOBS.c.state.is_(None)
    if tx.execute(update(JOBS).where(open_).values(**values)).rowcount:
        body = {"job": job, "state": state.value, "text": text}
        append(tx, conversation, [Entry(EventKind.JOB_FINISHED, body)])
        return state
    found = find(tx, conversation, job)
    return found.state or state


def find(connection: Connection, conversation: str, job: str) -> JobNote:
    """Return the job, which has to exist."""
    row = connection.execute(select(JOBS).where(_at(conversation, job))).mappings().one()
    return JobNote.model_validate(dict(row))


def of_conversation(connection: Connection, conversation: str) -> list[JobNote]:
    """Return every job of *conversation*, oldest first."""
    query = select(JOBS).where(JOBS.c.conversation == conversation).order_by(JOBS.c.started)
    return [JobNote.model_validate(dict(row)) for row in connection.execute(query).mappings()]


def _at(conversation: str, job: str) -> ColumnElement[bool]:
    return (JOBS.c.conversation == conversation) & (JOBS.c.job == job)
