"""Model inference."""

from abc import ABC, abstractmethod

from temporalio import activity

from workflows.contracts.provider import RequestOrder, RequestReply


class ProviderPort(ABC):
    """Model inference.  Implemented by :mod:`activities.provider.inference`."""

    @activity.defn
    @abstractmethod
    async def request_model(self, order: RequestOrder) -> RequestReply:
        """Send one attempt of one numbered request and store what came of it.

        A request that was answered already is never sent again: its stored reply
        is returned.
        """
