"""Ask an adapter once and look at everything that came back."""

from dataclasses import dataclass, field
from datetime import timedelta

import httpx

from activities.provider.adapter import Delta, DeltaKind, ModelReply, Prompt
from activities.provider.chat_completions import ChatCompletions
from activities.provider.errors import ProviderError
from tests.provider.loopback import Answer, Loopback, loopback
from workflows.contracts.item import UserItem

KEY = "sk-secret-0123456789"
PROMPT = Prompt(model="m", system="s", items=(UserItem(message="1", text="hello"),))


@dataclass
class Asked:
    """What one attempt brought."""

    reply: ModelReply | None = None
    failure: ProviderError | None = None
    deltas: list[Delta] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """Return the text that was streamed."""
        return "".join(delta.text for delta in self.deltas if delta.kind is DeltaKind.TEXT)

    @property
    def answer(self) -> ModelReply:
        """Return the reply of an attempt that must have succeeded."""
        assert self.reply is not None, self.failure
        return self.reply

    @property
    def error(self) -> ProviderError:
        """Return the failure of an attempt that must have failed."""
        assert self.failure is not None, self.reply
        return self.failure


async def ask(adapter: ChatCompletions, prompt: Prompt = PROMPT) -> Asked:
    """Make one attempt."""
    asked = Asked()
    try:
        asked.reply = await adapter.complete(prompt, asked.deltas.append)
    except ProviderError as error:
        asked.failure = error
    return asked


async def ask_server(
    server: Loopback, prompt: Prompt = PROMPT, idle: float = 60.0, stall: float = 60.0
) -> Asked:
    """Make one attempt against a running server."""
    async with httpx.AsyncClient(trust_env=False) as client:
        adapter = ChatCompletions(
            "local",
            server.endpoint,
            KEY,
            client,
            idle=timedelta(seconds=idle),
            stall=timedelta(seconds=stall),
        )
        return await ask(adapter, prompt)


async def ask_bytes(
    *steps: bytes | float | object, idle: float = 60.0, stall: float = 60.0
) -> Asked:
    """Make one attempt against a server that says *steps*."""
    async with loopback(Answer(steps)) as server:
        return await ask_server(server, idle=idle, stall=stall)
