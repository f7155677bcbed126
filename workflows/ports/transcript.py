"""Writes that belong to a turn and to no tool."""

from abc import ABC, abstractmethod

from temporalio import activity

from workflows.contracts.turn import TurnClosed, TurnClosing


class TranscriptPort(ABC):
    """The record of a turn.  Implemented by :mod:`activities.transcript`."""

    @activity.defn
    @abstractmethod
    async def close_turn(self, closing: TurnClosing) -> TurnClosed:
        """Give every open call of the turn its one result and write down how it ended."""
