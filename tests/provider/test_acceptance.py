"""A reply is accepted call by call: judged, or answered at once because it cannot run."""

import json

import pytest

from activities.provider.acceptance import MOST_CALLS, Acceptance, Accepting
from activities.provider.adapter import ModelReply, ReplyCall
from activities.provider.errors import MalformedReply
from activities.tools.registry import ToolRegistry
from activities.tools.resource import ResourceRead
from activities.tools.shell import ShellRun
from activities.tools.workspace_resource import WorkspaceResource
from workflows.contracts.item import AssistantItem, CallItem, ReasoningItem
from workflows.contracts.key import RequestKey
from workflows.contracts.permission import PermissionMode, Verdict
from workflows.contracts.provider import RequestOrder
from workflows.contracts.tool import CallStatus

KEY = RequestKey(conversation="c", turn=1, request=2)
REGISTRY = ToolRegistry([ResourceRead({"workspace": WorkspaceResource()}), ShellRun()])


def _accept(
    *calls: ReplyCall,
    mode: PermissionMode = PermissionMode.ASK,
    answerable: bool = True,
    used: frozenset[str] = frozenset(),
) -> Acceptance:
    order = RequestOrder(key=KEY, model="m", mode=mode, answerable=answerable)
    accepting = Accepting(REGISTRY, lambda: True)
    reply = ModelReply(text="so", reasoning="hm", calls=calls)
    return accepting.accept(order, reply, family="f", used_ids=set(used))


def _shell(command: str, call_id: str = "x", **more: object) -> ReplyCall:
    return ReplyCall(call_id, "shell.run", json.dumps({"command": command, **more}))


def test_items_are_in_wire_order() -> None:
    """Reasoning, text, then the calls."""
    accepted = _accept(_shell("ls"), ReplyCall("y", "resource.read", '{"uri": "workspace:."}'))

    kinds = [type(item) for item in accepted.items]
    assert kinds == [ReasoningItem, AssistantItem, CallItem, CallItem]


def test_a_question_shows_the_command_and_not_its_description() -> None:
    """What the model calls a command is not what is permitted."""
    call = _shell("rm -rf build", description="tidy up", directory="src")

    accepted = _accept(call).calls[0]

    assert accepted.call.verdict is Verdict.ASK
    assert accepted.label == "tidy up"
    assert accepted.question == "in src: rm -rf build"


def test_a_call_nobody_can_answer_for_has_its_denial_at_once() -> None:
    """The turn goes on, and the model reads why."""
    accepted = _accept(_shell("ls"), answerable=False).calls[0]

    assert accepted.call.verdict is Verdict.DENY
    assert accepted.result is not None
    assert accepted.result.status is CallStatus.DENIED
    assert "nobody can answer" in accepted.result.text


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (ReplyCall("x", "shell.walk", "{}"), "no such tool"),
        (ReplyCall("x", "shell.run", '{"command": '), "shell.run: "),
        (ReplyCall("x", "shell.run", "[1]"), "shell.run: "),
        (ReplyCall("x", "shell.run", ""), "command: Field required"),
        (ReplyCall("x", "shell.run", '{"command": "ls", "colour": 1}'), "colour: "),
        (ReplyCall("x", "n" * 5_000, "{}"), "no such tool"),
    ],
)
def test_a_call_that_cannot_run_has_its_result_at_once(call: ReplyCall, reason: str) -> None:
    """Bounded names, the reason in the result, and nothing to authorize."""
    accepted = _accept(call, mode=PermissionMode.FULL).calls[0]

    assert accepted.call.verdict is Verdict.INVALID
    assert len(accepted.call.tool) <= 128
    assert accepted.result is not None
    assert accepted.result.status is CallStatus.ERROR
    assert reason in accepted.result.text


def test_a_bare_name_that_fits_one_tool_is_accepted() -> None:
    """Domain reference 5.1."""
    accepted = _accept(ReplyCall("x", "run", '{"command": "ls"}'), mode=PermissionMode.FULL)

    assert accepted.calls[0].call.tool == "shell.run"
    assert accepted.calls[0].call.verdict is Verdict.ALLOW


def test_missing_and_repeated_ids_are_replaced_by_ours() -> None:
    """Every id of a turn is used once; ours are nine letters and digits, always the same."""
    calls = [_shell("a", ""), _shell("b", "same"), _shell("c", "same"), _shell("d", "old")]

    first, second = (
        [one.record.call_id for one in _accept(*calls, used=frozenset({"old"})).calls]
        for _ in range(2)
    )

    assert first == second
    assert len(set(first)) == 4
    assert first[1] == "same"
    assert all(len(name) == 9 and name.isalnum() for name in (first[0], first[2], first[3]))


def test_an_absurd_number_of_calls_is_no_plan() -> None:
    """It ends the request instead of filling histories."""
    calls = [_shell("true", str(number)) for number in range(MOST_CALLS + 1)]

    with pytest.raises(MalformedReply, match="at most 256"):
        _accept(*calls)
