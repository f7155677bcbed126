"""A conversation as Markdown: text as it was said, commands and results in fences."""

import re
from datetime import UTC, datetime

from activities.store.items import PlacedItem
from activities.store.record import Record, TurnPart
from workflows.contracts.item import (
    AssistantItem,
    CallItem,
    NoticeItem,
    ReasoningItem,
    ResultItem,
    UserItem,
)

SHORTEST_FENCE = 3


def as_markdown(record: Record) -> str:
    """Return *record* as a Markdown document."""
    conversation = record.conversation
    parts = [
        f"# Conversation {conversation.id}",
        f"- Workspace: `{conversation.workspace}`\n- Begun: {_time(conversation.created)}",
    ]
    for turn in record.turns:
        parts += _turn(turn)
    for job in record.jobs:
        state = job.state.value if job.state else "running"
        parts += [f"## Job {job.job} ({state})", fenced(job.label)]
        parts += [fenced(job.text)] if job.text else []
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str = "") -> str:
    """Return *text* in a fence that it cannot close itself."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(SHORTEST_FENCE, longest + 1)
    ending = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{ending}{fence}"


def _turn(part: TurnPart) -> list[str]:
    record = part.record
    outcome = record.outcome or "running"
    failure = f": {record.failure}" if record.failure else ""
    parts = [f"## Turn {record.turn} ({outcome}{failure}), {_time(record.started)}"]
    parts += [_item(placed) for placed in part.items]
    failed = [attempt for attempt in part.attempts if attempt.outcome not in (None, "answered")]
    if failed:
        parts.append("### Attempts that failed")
        parts.append(
            "\n".join(
                f"- request {attempt.request}, attempt {attempt.attempt}: {attempt.outcome}"
                + (f", {attempt.message}" if attempt.message else "")
                for attempt in failed
            )
        )
    return parts


def _item(placed: PlacedItem) -> str:
    item = placed.item
    match item:
        case UserItem():
            title = "Steering" if item.steering else "Message"
            return f"### {title}\n\n{item.text}"
        case NoticeItem():
            return f"### Notice\n\n{fenced(item.text)}"
        case ReasoningItem():
            return f"### Reasoning\n\n{fenced(item.text)}"
        case AssistantItem():
            return f"### Answer\n\n{item.text}"
        case CallItem():
            return f"### Call `{item.tool}`\n\n{fenced(item.arguments, 'json')}"
        case ResultItem():
            return f"### Result of `{item.tool}` ({item.status.value})\n\n{fenced(item.text)}"


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
