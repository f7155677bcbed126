"""Run one call as its effect class demands (design: A turn).

Before anything can happen an attempt notes that it is about to begin; after it, the
one result is stored before it is reported.  The next attempt reads both: a stored
result is returned, a call that never began is run, and for one that may have begun
the effect class decides.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from activities.attempt import attempt
from activities.errors import AutolithError, ToolError, UnknownOutcome
from activities.failures import as_failure
from activities.store import calls, conversations, jobs
from activities.store.database import Database
from activities.store.events import Entry, append
from activities.store.objects import ObjectDirectory
from activities.tools.output_line import OutputLine
from activities.tools.registry import AnyTool, ToolRegistry
from activities.tools.tool import ToolContext, ToolResult
from activities.transcript import UNKNOWN
from workflows.contracts.event import EventKind
from workflows.contracts.item import ResultItem
from workflows.contracts.key import CallKey
from workflows.contracts.permission import Answer, PermissionRequest
from workflows.contracts.tool import CallReport, CallStatus, EffectClass, ToolOrder
from workflows.policy.bounds import clip
from workflows.policy.effects import Resumption, resume

DENIED = "{tool} was not run: the owner denied permission."


@dataclass(frozen=True)
class Work:
    """A call that is to run now."""

    record: calls.CallRecord
    workspace: Path
    resumption: Resumption


class CallRunner:
    """Runs accepted calls against the registry of tools."""

    def __init__(
        self,
        database: Database,
        objects: ObjectDirectory,
        registry: ToolRegistry,
        *,
        state_root: Path,
    ) -> None:
        self._database = database
        self._objects = objects
        self._registry = registry
        self._state_root = state_root

    async def run(self, order: ToolOrder) -> CallReport:
        """Bring the call of *order* to its one result and report it."""
        try:
            return await attempt(lambda let_go: self._attempt(order, let_go))
        except AutolithError as error:
            raise as_failure(error) from error

    async def _attempt(self, order: ToolOrder, let_go: asyncio.Event) -> CallReport:
        begun = await self._begin(order)
        if isinstance(begun, CallReport):
            return begun
        return await self._run(order, begun, let_go)

    async def _begin(self, order: ToolOrder) -> CallReport | Work:
        """Decide what this attempt has to do; an observation needs no note before it."""
        record, workspace = await self._database.read(
            lambda tx: (calls.find(tx, order.key), _workspace(tx, order.key))
        )
        is_plain = order.attempt == 1 and order.answer is None and record.status is None
        if is_plain and self._effect(record) is EffectClass.OBSERVE:
            return Work(record, workspace, Resumption.RUN)
        return await self._database.write(lambda tx: self._admit(tx, order))

    def _admit(self, tx: Connection, order: ToolOrder) -> CallReport | Work:
        """Decide what this attempt has to do, in one transaction."""
        report = calls.concluded(tx, order.key)
        if report is not None:
            return report
        record = calls.find(tx, order.key)
        if order.answer is not None and record.intended is None:
            _tell_answer(tx, order.key, order.answer)
        if order.answer is Answer.DENY:
            text = DENIED.format(tool=record.tool)
            return calls.conclude(tx, order.key, _item(record, CallStatus.DENIED, text))
        effect = self._effect(record)
        resumption = resume(effect, intended=record.intended is not None)
        if resumption is Resumption.UNKNOWN:
            text = UNKNOWN.format(tool=record.tool)
            return calls.conclude(tx, order.key, _item(record, CallStatus.UNKNOWN, text))
        if order.attempt > 1:
            _tell_resumption(tx, order, resumption)
        if effect is not EffectClass.OBSERVE:
            calls.intend(tx, order.key)
        return Work(record, _workspace(tx, order.key), resumption)

    def _effect(self, record: calls.CallRecord) -> EffectClass:
        return self._registry.resolve(record.tool).effect

    async def _run(self, order: ToolOrder, work: Work, let_go: asyncio.Event) -> CallReport:
        tool = self._registry.resolve(work.record.tool)
        lines = OutputLine(self._database, order.key)
        context = ToolContext(
            key=order.key,
            workspace=work.workspace,
            database=self._database,
            objects=self._objects,
            state_root=self._state_root,
            grant=order.grant,
            resumption=work.resumption,
            progress=lines.show,
            left_running=let_go,
        )
        started = time.perf_counter()
        try:
            result = await self._outcome(tool, work.record, context)
        except asyncio.CancelledError:
            if not let_go.is_set():
                await self._conclude(order.key, work.record, _cancelled(tool, order.key), started)
            raise
        finally:
            lines.close()
        return await self._conclude(order.key, work.record, result, started)

    async def _outcome(
        self, tool: AnyTool, record: calls.CallRecord, context: ToolContext
    ) -> ToolResult:
        """Return the tool's result; a failed call is a result too."""
        try:
            return await tool.run(self._registry.parse(tool, record.arguments), context)
        except UnknownOutcome as error:
            return ToolResult(f"{tool.name}: {error}", status=CallStatus.UNKNOWN)
        except ToolError as error:
            return ToolResult(f"{tool.name}: {error}", status=CallStatus.ERROR)

    async def _conclude(
        self, key: CallKey, record: calls.CallRecord, result: ToolResult, started: float
    ) -> CallReport:
        elapsed = int((time.perf_counter() - started) * 1_000_000)
        item = _item(record, result.status, clip(result.text), result.details)

        def store(tx: Connection) -> CallReport:
            report = calls.conclude(tx, key, item, job=result.job, microseconds=elapsed)
            if report.job is not None:
                tool = self._registry.resolve(record.tool)
                label = tool.label(self._registry.parse(tool, record.arguments))
                jobs.begin(tx, key.conversation, report.job.job, report.job.execution, label)
            return report

        return await self._database.write(store)


def _workspace(connection: Connection, key: CallKey) -> Path:
    return Path(conversations.get(connection, key.conversation).workspace)


def _cancelled(tool: AnyTool, key: CallKey) -> ToolResult:
    """Say what is known of a call that was ended in the middle."""
    text = f"{tool.name} was cancelled while it ran. What it had done until then is done."
    if tool.effect is EffectClass.ADOPTABLE:
        text += f" Its processes were ended; its output is kept as shell-log:{key.execution}."
    return ToolResult(text, status=CallStatus.CANCELLED)


def _item(
    record: calls.CallRecord,
    status: CallStatus,
    text: str,
    details: Mapping[str, object] | None = None,
) -> ResultItem:
    return ResultItem(
        ordinal=record.ordinal,
        call_id=record.call_id,
        tool=record.tool,
        status=status,
        text=text,
        details=dict(details or {}),
    )


def _tell_resumption(tx: Connection, order: ToolOrder, resumption: Resumption) -> None:
    entry = Entry.of(
        order.key,
        EventKind.CALL_RESUMED,
        ordinal=order.key.ordinal,
        attempt=order.attempt,
        resumption=resumption.value,
    )
    append(tx, order.key.conversation, [entry])


def _tell_answer(tx: Connection, key: CallKey, answer: Answer) -> None:
    question = PermissionRequest(key=key, tool="")
    entry = Entry.of(
        key,
        EventKind.PERMISSION_ANSWERED,
        ordinal=key.ordinal,
        request=question.id,
        answer=answer.value,
    )
    append(tx, key.conversation, [entry])
