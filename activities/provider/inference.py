"""Model inference: find the answer or ask for it, stream it, store it, report it.

A request that was answered is never sent again: the stored reply is returned, which
is what a retried attempt finds after a crash of ours.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from temporalio import activity

from activities import inflight
from activities.attempt import attempt
from activities.errors import AutolithError, ConfigurationError
from activities.failures import as_failure
from activities.provider import exchange
from activities.provider.acceptance import Accepting
from activities.provider.adapter import Delta, ModelReply, Prompt
from activities.provider.delta_batch import DeltaBatch
from activities.provider.errors import IncompleteReply, NotSent, ProviderError
from activities.provider.exchange import Opening
from activities.provider.registry import ServedModel
from activities.provider.system_prompt import system_prompt
from activities.store.database import Database
from activities.store.history_cache import HistoryCache
from activities.tools.registry import ToolRegistry
from workflows.contracts.provider import RequestOrder, RequestReply
from workflows.ports.provider import ProviderPort


class Inference(ProviderPort):
    """Sends numbered requests to whichever provider serves the model."""

    def __init__(
        self,
        database: Database,
        registry: ToolRegistry,
        accepting: Accepting,
        serve: Callable[[str], ServedModel],
    ) -> None:
        self._database = database
        self._registry = registry
        self._accepting = accepting
        self._serve = serve
        self._histories = HistoryCache()

    @activity.defn
    async def request_model(self, order: RequestOrder) -> RequestReply:
        """Send one attempt of one numbered request and store what came of it."""
        try:
            return await attempt(lambda let_go: self._request(order, let_go), use_grace=True)
        except AutolithError as error:
            raise as_failure(error) from error

    async def _request(self, order: RequestOrder, let_go: asyncio.Event) -> RequestReply:
        opening = await self._database.write(lambda tx: exchange.open_attempt(tx, order))
        if isinstance(opening, RequestReply):
            return opening
        deltas = DeltaBatch(self._database, order.key, order.failures.attempt)
        try:
            served = self._serve(order.model)
            reply = await self._send(order, opening, served, deltas)
            await deltas.close(keep=False)
            return await self._keep(order, opening, served, reply, has_deltas=deltas.has_written)
        except ConfigurationError as error:
            await deltas.close(keep=False)
            return await self._fail(order, NotSent(str(error)))
        except ProviderError as error:
            await deltas.close(keep=True)
            return await self._fail(order, error)
        except asyncio.CancelledError:
            await deltas.close(keep=True)
            if not let_go.is_set():
                began = inflight.output_started()
                await self._database.write(
                    lambda tx: exchange.keep_cancellation(tx, order, output_started=began)
                )
            raise

    async def _send(
        self, order: RequestOrder, opening: Opening, served: ServedModel, deltas: DeltaBatch
    ) -> ModelReply:
        history = await self._database.read(lambda tx: self._histories.history(tx, order.key))
        prompt = Prompt(
            model=served.wire_model,
            system=system_prompt(opening.workspace, datetime.now(UTC).date()),
            items=history,
            tools=self._registry.declarations,
            effort=order.effort,
        )

        def show(delta: Delta) -> None:
            inflight.mark_output_started()
            deltas.add(delta)

        return await served.adapter.complete(prompt, show)

    async def _keep(
        self,
        order: RequestOrder,
        opening: Opening,
        served: ServedModel,
        reply: ModelReply,
        *,
        has_deltas: bool,
    ) -> RequestReply:
        if not (reply.text or reply.calls):
            raise IncompleteReply(
                "The model sent an empty answer",
                output_started=bool(reply.reasoning),
                identifiers=reply.identifiers,
            )
        accepted = self._accepting.accept(
            order, reply, family=served.family, used_ids=opening.used_ids
        )
        sandbox = any(one.record.verdict == "ask" for one in accepted.calls)
        sandbox = sandbox and self._accepting.has_sandbox()
        return await self._database.write(
            lambda tx: exchange.keep_reply(
                tx, order, reply, accepted, sandbox=sandbox, has_deltas=has_deltas
            )
        )

    async def _fail(self, order: RequestOrder, error: ProviderError) -> RequestReply:
        failure = await self._database.write(lambda tx: exchange.keep_failure(tx, order, error))
        return RequestReply(key=order.key, failure=failure)
