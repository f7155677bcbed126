"""What a tool is: a declaration and one coroutine."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from activities.store.database import Database
from activities.store.objects import ObjectDirectory
from workflows.contracts.key import CallKey
from workflows.contracts.permission import Grant
from workflows.contracts.tool import (
    CallStatus,
    Concurrency,
    EffectClass,
    JobHandoff,
    ToolDeclaration,
)
from workflows.policy.effects import Resumption


class Arguments(BaseModel):
    """The argument object of one tool: closed, with the spec's hyphenated names."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class ToolContext:
    """Where a call runs and what it may use."""

    key: CallKey
    workspace: Path
    database: Database
    objects: ObjectDirectory
    state_root: Path
    grant: Grant = Grant.FULL
    resumption: Resumption = Resumption.RUN
    """ADOPT when an earlier attempt may have left a process behind."""
    progress: Callable[[str], None] = lambda _line: None
    """Show the newest output line of a running call; cheap, may be dropped."""
    left_running: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the worker stops: leave the process running and let go."""


@dataclass(frozen=True)
class ToolResult:
    """What a finished call says.  Failures are raised as ``ToolError`` instead."""

    text: str
    details: dict[str, Any] = field(default_factory=dict)
    status: CallStatus = CallStatus.OK
    job: JobHandoff | None = None


class Tool(ABC, Generic[A]):
    """One callable tool.  Stateless: everything it needs comes with the context."""

    name: ClassVar[str]
    description: ClassVar[str]
    effect: ClassVar[EffectClass]
    concurrency: ClassVar[Concurrency] = Concurrency.CONCURRENT
    asks: ClassVar[bool] = False
    arguments: type[A]

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> ToolResult:
        """Do the work of one call.

        Raises:
            ToolError: the call failed; the text is the model's to read.
        """

    @abstractmethod
    def label(self, arguments: A) -> str:
        """Return the short row label of one call."""

    def question(self, arguments: A) -> str:
        """Return what a person is asked to permit, in full: never a description of it."""
        return self.label(arguments)

    def declaration(self) -> ToolDeclaration:
        """Return what providers and policies need to know."""
        return ToolDeclaration(
            name=self.name,
            description=self.description,
            parameters=self.arguments.model_json_schema(by_alias=True),
            effect=self.effect,
            concurrency=self.concurrency,
            asks=self.asks,
        )
