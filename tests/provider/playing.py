"""Send histories to a scripted provider."""

import httpx

from activities.provider.adapter import Prompt
from activities.provider.chat_completions import ChatCompletions
from activities.provider.scripted.server import ScriptedProvider
from tests.provider.asking import Asked, ask
from workflows.contracts.item import CallItem, Item, ResultItem, UserItem
from workflows.contracts.tool import CallStatus


def user(text: str) -> UserItem:
    """Return what the owner said."""
    return UserItem(message=text, text=text)


def tool_round(ordinal: int, result: str) -> tuple[Item, Item]:
    """Return one call and its result."""
    call_id = f"c{ordinal}"
    call = CallItem(ordinal=ordinal, call_id=call_id, tool="shell.run", arguments="{}")
    status = CallStatus.OK
    return call, ResultItem(
        ordinal=ordinal, call_id=call_id, tool="shell.run", status=status, text=result
    )


def adapter_of(provider: ScriptedProvider, client: httpx.AsyncClient) -> ChatCompletions:
    """Return the adapter of a running provider."""
    return ChatCompletions("scripted", f"{provider.endpoint}/chat/completions", None, client)


async def send(provider: ScriptedProvider, *items: Item, model: str = "m") -> Asked:
    """Ask a running provider once."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return await ask(adapter_of(provider, client), Prompt(model, "be good", items))


HELLO = (user("hello"),)
