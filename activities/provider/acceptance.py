"""Accept a reply: its items, its calls judged, and the results of those that cannot run."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from activities.errors import ToolError
from activities.provider.adapter import ModelReply, ReplyCall
from activities.provider.errors import MalformedReply
from activities.store.calls import CallRecord
from activities.tools.registry import ToolRegistry
from workflows.contracts.item import AssistantItem, CallItem, Item, ReasoningItem, ResultItem
from workflows.contracts.key import CallKey
from workflows.contracts.permission import Verdict
from workflows.contracts.provider import AcceptedCall, RequestOrder
from workflows.contracts.tool import CallStatus, Concurrency, EffectClass
from workflows.policy.permission import judge

MOST_CALLS = 256
"""A reply with more calls than this is no plan but a defect of the model."""
NAME_CHARACTERS = 128
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DENIED = (
    "{tool} was not run: it needs permission, and nobody can answer here. Go on without it, or "
    "say what you would have run."
)


@dataclass(frozen=True)
class Accepted:
    """One call of a reply, with everything that is stored for it."""

    call: AcceptedCall
    record: CallRecord
    label: str
    question: str
    """What a person would be asked to permit."""
    result: ResultItem | None = None
    """Set for a call that will not run."""


@dataclass(frozen=True)
class Acceptance:
    """A reply in our own terms."""

    items: tuple[Item, ...]
    calls: tuple[Accepted, ...]


class Accepting:
    """Accepts replies against the tools and the permission policy of this machine."""

    def __init__(self, registry: ToolRegistry, has_sandbox: Callable[[], bool]) -> None:
        self._registry = registry
        self.has_sandbox = has_sandbox

    def accept(
        self, order: RequestOrder, reply: ModelReply, *, family: str, used_ids: set[str]
    ) -> Acceptance:
        """Return what *reply* means for the history and for the workflow.

        Raises:
            MalformedReply: it asks for an absurd number of calls.
        """
        if len(reply.calls) > MOST_CALLS:
            raise MalformedReply(
                f"The model asked for {len(reply.calls)} calls at once; at most {MOST_CALLS} "
                "are accepted",
                output_started=True,
            )
        taken = set(used_ids)
        accepted = tuple(
            self._accept(order, order.key.call(ordinal), call, taken)
            for ordinal, call in enumerate(reply.calls)
        )
        return Acceptance(tuple(_items(reply, family, accepted)), accepted)

    def _accept(
        self, order: RequestOrder, key: CallKey, call: ReplyCall, taken: set[str]
    ) -> Accepted:
        call_id = _unique_id(key, call.call_id, taken)
        taken.add(call_id)
        try:
            tool = self._registry.resolve(call.tool)
            arguments = self._registry.parse(tool, call.arguments)
            label, question = tool.label(arguments), tool.question(arguments)
        except ToolError as error:
            return _unrunnable(key, call, call_id, str(error))
        verdict = judge(
            asks=tool.asks,
            mode=order.mode,
            sandbox=tool.asks and self.has_sandbox(),
            answerable=order.answerable,
        )
        accepted = AcceptedCall(
            ordinal=key.ordinal,
            tool=tool.name,
            effect=tool.effect,
            concurrency=tool.concurrency,
            verdict=verdict,
        )
        record = _record(key, call, call_id, tool.name, verdict)
        denied = verdict is Verdict.DENY
        text = DENIED.format(tool=tool.name)
        result = _result(record, CallStatus.DENIED, text) if denied else None
        return Accepted(accepted, record, label, question, result)


def _unique_id(key: CallKey, proposed: str, taken: set[str]) -> str:
    """Return the provider's id, or one of ours where it is missing or used already.

    Nine letters and digits: the strictest form that a server is known to demand.
    """
    if proposed and proposed not in taken:
        return proposed
    digest = int.from_bytes(hashlib.sha256(key.execution.encode()).digest()[:8], "big")
    letters = [BASE62[digest // 62**place % 62] for place in range(9)]
    return "".join(letters)


def _items(reply: ModelReply, family: str, accepted: tuple[Accepted, ...]) -> list[Item]:
    items: list[Item] = []
    if reply.reasoning or reply.reasoning_fields:
        fields = dict(reply.reasoning_fields)
        items.append(ReasoningItem(text=reply.reasoning, family=family, fields=fields))
    if reply.text:
        items.append(AssistantItem(text=reply.text))
    for one in accepted:
        record = one.record
        items.append(
            CallItem(
                ordinal=record.ordinal,
                call_id=record.call_id,
                tool=record.tool,
                arguments=record.arguments,
            )
        )
    return items


def _unrunnable(key: CallKey, call: ReplyCall, call_id: str, reason: str) -> Accepted:
    name = call.tool[:NAME_CHARACTERS]
    accepted = AcceptedCall(
        ordinal=key.ordinal,
        tool=name,
        effect=EffectClass.OBSERVE,
        concurrency=Concurrency.CONCURRENT,
        verdict=Verdict.INVALID,
    )
    record = _record(key, call, call_id, name, Verdict.INVALID)
    return Accepted(accepted, record, name, name, _result(record, CallStatus.ERROR, reason))


def _record(
    key: CallKey, call: ReplyCall, call_id: str, tool: str, verdict: Verdict
) -> CallRecord:
    return CallRecord(
        ordinal=key.ordinal,
        call_id=call_id,
        tool=tool,
        arguments=call.arguments,
        verdict=verdict.value,
    )


def _result(record: CallRecord, status: CallStatus, text: str) -> ResultItem:
    return ResultItem(
        ordinal=record.ordinal,
        call_id=record.call_id,
        tool=record.tool,
        status=status,
        text=text,
    )
