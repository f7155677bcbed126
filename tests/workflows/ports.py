"""Scripted ports: what a workflow asks, recorded; what it is answered, decided by the test."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from temporalio import activity
from temporalio.exceptions import ApplicationError

from workflows.contracts.job import JobOutcome, JobStart, JobState
from workflows.contracts.permission import Verdict
from workflows.contracts.provider import AcceptedCall, RequestFailure, RequestOrder, RequestReply
from workflows.contracts.tool import CallReport, CallStatus, EffectClass, ToolOrder
from workflows.contracts.turn import TurnClosed, TurnClosing
from workflows.ports.provider import ProviderPort
from workflows.ports.tools import ToolPort
from workflows.ports.transcript import TranscriptPort

Step: TypeAlias = Callable[[RequestOrder], RequestReply | Awaitable[RequestReply]]


def call(ordinal: int = 0, verdict: Verdict = Verdict.ALLOW) -> AcceptedCall:
    """Return a judged call of ``shell.run``."""
    return AcceptedCall(
        ordinal=ordinal, tool="shell.run", effect=EffectClass.ADOPTABLE, verdict=verdict
    )


def answers(*calls: AcceptedCall) -> Step:
    """Answer the request, asking for *calls*."""
    return lambda order: RequestReply(key=order.key, calls=calls)


def fails(failure: RequestFailure) -> Step:
    """Fail the attempt."""
    return lambda order: RequestReply(key=order.key, failure=failure)


class ScriptedProvider(ProviderPort):
    """Takes one step of the script per attempt; an empty script answers."""

    def __init__(self, *steps: Step) -> None:
        self.steps = deque(steps)
        self.orders: list[RequestOrder] = []

    @activity.defn
    async def request_model(self, order: RequestOrder) -> RequestReply:
        """Play the next step."""
        self.orders.append(order)
        step = self.steps.popleft() if self.steps else answers()
        reply = step(order)
        return reply if isinstance(reply, RequestReply) else await reply


class ScriptedTools(ToolPort):
    """Runs calls by the test's function and counts them."""

    def __init__(self, run: Callable[[ToolOrder], Awaitable[CallReport]] | None = None) -> None:
        self.run = run
        self.orders: list[ToolOrder] = []
        self.jobs: dict[str, asyncio.Event] = {}
        self.unwatchable: set[str] = set()

    @activity.defn
    async def run_tool(self, order: ToolOrder) -> CallReport:
        """Run the call as the test says, or succeed at once."""
        self.orders.append(order)
        if self.run is not None:
            return await self.run(order)
        return CallReport(key=order.key, status=CallStatus.OK)

    @activity.defn
    async def watch_job(self, start: JobStart) -> JobOutcome:
        """Wait until the test lets the job end."""
        if start.job in self.unwatchable:
            raise ApplicationError("no such execution", non_retryable=True)
        state = JobState.COMPLETED
        try:
            await self.jobs.setdefault(start.job, asyncio.Event()).wait()
        except asyncio.CancelledError:
            state = JobState.CANCELLED
        return JobOutcome(conversation=start.conversation, job=start.job, state=state)


class ScriptedTranscript(TranscriptPort):
    """Keeps every closing; claims nothing unless told to."""

    def __init__(self) -> None:
        self.closings: list[TurnClosing] = []

    @activity.defn
    async def close_turn(self, closing: TurnClosing) -> TurnClosed:
        """Record the closing."""
        self.closings.append(closing)
        return TurnClosed()
