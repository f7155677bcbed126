"""Small workflows and activities in which every kind of payload occurs."""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as ActivityTimeout

from tests.sealing.contracts import CANARY, Ask, Begin, Kept, Look, Order, Tell, Word

ONCE = RetryPolicy(maximum_attempts=1)
PATIENCE = timedelta(minutes=5)
SOON = timedelta(seconds=1)


@activity.defn
async def repeat(order: Order) -> Word:
    """Say *order* back."""
    activity.heartbeat(Word(text=f"{CANARY} heartbeat"))
    return Word(text=order.text, filler=order.filler)


@activity.defn
async def refuse(order: Order) -> Word:
    """Fail with the order's text in message, details and cause."""
    raise ApplicationError(
        f"{CANARY} message {order.text}", Word(text=f"{CANARY} detail"), type="refused"
    ) from ValueError(f"{CANARY} cause")


@activity.defn
async def hang(order: Order) -> Kept:
    """Heartbeat until somebody completes the activity from outside."""
    activity.heartbeat(Word(text=f"{CANARY} heartbeat {order.text}"))
    activity.raise_complete_async()


@workflow.defn
class Pupil:
    """A child that hears one signal and answers."""

    def __init__(self) -> None:
        self._heard: list[str] = []

    @workflow.run
    async def run(self, begin: Begin) -> Word:
        """Wait for a word, then pass it on."""
        if begin.text.endswith("fail"):
            raise ApplicationError(f"{CANARY} child failure", Word(text=f"{CANARY} detail"))
        await workflow.wait_condition(lambda: bool(self._heard))
        return Word(text=f"{begin.text} {self._heard[0]}")

    @workflow.signal
    async def tell(self, tell: Tell) -> None:
        """Hear one word."""
        self._heard.append(tell.text)


@workflow.defn
class Vault:
    """Keeps what it is told until it is closed."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._asked: list[str] = []
        self._next: str | None = None

    @workflow.run
    async def run(self, begin: Begin) -> Word:
        """Stay open; ``next`` continues as new, ``close`` ends."""
        self._heard.extend(begin.carried)
        await workflow.wait_condition(lambda: self._next is not None)
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._next == "continue":
            workflow.continue_as_new(
                Begin(command="begin", text=begin.text, carried=tuple(self._heard))
            )
        return Word(text=" ".join(self._heard))

    @workflow.signal
    async def tell(self, tell: Tell) -> None:
        """Hear one word."""
        self._heard.append(tell.text)

    @workflow.update
    async def steer(self, ask: Ask) -> Word:
        """Take a word, without a validator."""
        self._asked.append(ask.text)
        return Word(text=ask.text)

    @workflow.update
    async def ask(self, ask: Ask) -> Word:
        """Run an activity with the word."""
        return await workflow.execute_activity(
            repeat,
            Order(command="order", text=ask.text, filler=ask.filler),
            start_to_close_timeout=PATIENCE,
            heartbeat_timeout=PATIENCE,
            retry_policy=ONCE,
            summary=f"{CANARY} activity summary",
        )

    @ask.validator
    def _judge(self, ask: Ask) -> None:
        if ask.text == "forbidden":
            raise ApplicationError(f"{CANARY} rejected", type="forbidden")

    @workflow.update
    async def depend(self, ask: Ask) -> Word:
        """Wait for an activity that somebody else completes, and say how it ended."""
        try:
            done = await workflow.execute_activity(
                hang,
                Order(command="order", text=ask.text),
                activity_id=ask.text,
                start_to_close_timeout=SOON if ask.text.startswith("impatient") else PATIENCE,
                heartbeat_timeout=PATIENCE,
                retry_policy=ONCE,
            )
            return Word(text=done.kept)
        except ActivityError as error:
            if isinstance(error.cause, ActivityTimeout):
                return Word(text=f"timed out: {len(error.cause.last_heartbeat_details)}")
            return Word(text=f"failed: {_cause(error).type}")

    @workflow.update
    async def stumble(self, ask: Ask) -> Word:
        """Run an activity that fails, and say with what."""
        try:
            return await workflow.execute_activity(
                refuse,
                Order(command="order", text=ask.text),
                start_to_close_timeout=PATIENCE,
                retry_policy=ONCE,
            )
        except ActivityError as error:
            cause = _cause(error)
            return Word(text=f"{cause.type}|{cause.message}|{cause.details[0]['text']}")

    @workflow.update
    async def teach(self, ask: Ask) -> Word:
        """Start a child, signal it as a child and as a stranger would, hear its answer."""
        child = await workflow.start_child_workflow(
            Pupil.run,
            Begin(command="begin", text=f"{CANARY} child start"),
            id=f"{workflow.info().workflow_id}:pupil",
            static_summary=f"{CANARY} child summary",
            memo={"note": f"{CANARY} child memo"},
        )
        external = workflow.get_external_workflow_handle_for(Pupil.run, child.id)
        await external.signal(Pupil.tell, Tell(command="tell", text=ask.text))
        await workflow.sleep(0.01, summary=f"{CANARY} timer summary")
        workflow.upsert_memo({"more": f"{CANARY} upserted memo"})
        workflow.set_current_details(f"{CANARY} current details")
        return await child

    @workflow.update
    async def miss(self, ask: Ask) -> Word:
        """Signal a workflow that does not exist, and say how that failed."""
        external = workflow.get_external_workflow_handle(ask.text)
        try:
            await external.signal("tell", Tell(command="tell", text="nobody hears this"))
        except ApplicationError as error:
            return Word(text=f"{error.type}: {error.message}")
        return Word(text="it was heard")

    @workflow.update
    async def suffer(self, ask: Ask) -> Word:
        """Start a child that fails, and pass its failure on."""
        return await workflow.execute_child_workflow(
            Pupil.run,
            Begin(command="begin", text=f"{ask.text} fail"),
            id=f"{workflow.info().workflow_id}:failing",
        )

    @workflow.signal
    async def proceed(self, tell: Tell) -> None:
        """Close, or continue as new."""
        self._next = tell.text

    @workflow.query
    def look(self, look: Look) -> Word:
        """Say what was heard and asked."""
        return Word(text="|".join([*self._heard, *self._asked, look.text]))


def _cause(error: ActivityError) -> ApplicationError:
    if not isinstance(error.cause, ApplicationError):
        raise TypeError(type(error.cause))
    return error.cause


WORKFLOWS = (Vault, Pupil)
ACTIVITIES = (repeat, refuse, hang)
