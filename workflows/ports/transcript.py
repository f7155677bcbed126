"""Writes that belong to a turn and to no tool."""

from abc import ABC, abstractmethod

from temporalio import activity

from workflows.contracts.tool import SettleOrder
from workflows.contracts.turn import TurnClosing


class TranscriptPort(ABC):
    """The record of a turn.  Implemented by :mod:`activities.transcript`."""

    @activity.defn
    @abstractmethod
    async def settle_calls(self, order: SettleOrder) -> None:
        """Give each call named its one result, unless it has one already."""

    @activity.defn
    @abstractmethod
    async def close_turn(self, closing: TurnClosing) -> None:
        """Write down how the turn ended, and tell the screens."""
