"""An interactive session: what a person types, and what the conversation says.

The store's events drive the screen, so a dead worker, a dead server or another
viewer change nothing about what is shown.  Leaving a session never ends a turn that
nobody cancelled.
"""

import asyncio
import signal
import time
from collections.abc import Coroutine
from typing import Any

from activities.errors import AutolithError
from cli.choice import Choice
from cli.failures import SUCCESS, TERMINATED
from cli.terminal import rows
from cli.terminal.commands import Invocation, help_lines, read_input
from cli.terminal.dialogue import Dialogue
from cli.terminal.history import InputHistory
from cli.terminal.interrupts import Interrupts
from cli.terminal.keys import key_bindings
from cli.terminal.screen import Screen
from cli.terminal.status_line import Standing, status_line
from cli.terminal.watch import Watch
from workflows.contracts.conversation import Delivery
from workflows.contracts.permission import Answer, PermissionMode

HUNG_UP = 129
ANSWERS = {answer.value[0]: answer for answer in Answer} | {a.value: a for a in Answer}


class Session:
    """Does what the keys wish."""

    def __init__(self, dialogue: Dialogue, history: InputHistory) -> None:
        self._dialogue = dialogue
        self._interrupts = Interrupts()
        self._hint = ""
        self._errands: set[asyncio.Task[None]] = set()
        self._screen = Screen(
            history=history,
            keys=key_bindings(self),
            live=lambda width: self._watch.transcript.live(time.time(), width),
            status=lambda width: status_line(self._standing(), width),
            question=self._question_prompt,
        )
        self._watch = Watch(dialogue, self._screen, lambda: bool(self._interrupts.hint))
        dialogue.on_failure = self._complain

    async def run(self) -> int:
        """Run until the person leaves, and return the exit status."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_exception)
        loop.add_signal_handler(signal.SIGTERM, self._screen.leave, TERMINATED)
        loop.add_signal_handler(signal.SIGHUP, self._screen.leave, HUNG_UP)
        works = (*self._watch.works(), self._dialogue.keep_typed(), self._dialogue.deliver_kept())
        lasting = {asyncio.create_task(work) for work in works}
        for task in lasting:
            task.add_done_callback(self._end_with)
        if not (self._dialogue.is_new or self._dialogue.choice.is_empty):
            self._run_errand(self._configure(self._dialogue.choice))
        try:
            return await self._screen.run()
        except EOFError:
            return HUNG_UP
        finally:
            for task in lasting | self._errands:
                task.cancel()
            await asyncio.wait(lasting | self._errands)

    # What the keys wish.

    def is_asked(self) -> bool:
        """Whether a permission question has the keyboard."""
        return bool(self._watch.transcript.questions)

    def enter(self) -> None:
        """Send the draft, or the answer; steer while a turn runs."""
        self._hint = ""
        if self.is_asked():
            self._answer(self._screen.answer.text.strip().lower())
            self._screen.answer.reset()
        else:
            self._send(Delivery.STEER)

    def queue(self) -> None:
        """Send the draft as work of its own."""
        self._send(Delivery.QUEUE)

    def escape(self) -> None:
        """Deny the question, or cancel the turn."""
        if self.is_asked():
            self._answer(Answer.DENY.value)
        elif self._watch.is_busy:
            self._run_errand(self._cancel(hold_queue=False))

    def interrupt(self) -> None:
        """Cancel and hold the queue; leave when there is nothing to cancel."""
        is_busy = self._watch.is_busy
        forced = self._interrupts.press(cancels=is_busy)
        if forced is not None:
            self._screen.leave(forced)
        elif is_busy:
            self._run_errand(self._cancel(hold_queue=True))
        elif self._screen.draft.text:
            self._screen.draft.reset()
        else:
            self._screen.leave(SUCCESS)

    def end(self) -> None:
        """Leave; a turn goes on."""
        self._screen.leave(SUCCESS)

    def redraw(self) -> None:
        """Clear the screen."""
        self._screen.clear()

    def _send(self, delivery: Delivery) -> None:
        text = self._screen.draft.text
        if not text.strip():
            return
        self._screen.draft.reset(append_to_history=True)
        try:
            wanted = read_input(text)
        except AutolithError as error:
            self._complain(str(error))
            return
        if isinstance(wanted, Invocation):
            self._tell([text.strip()], "bold")
            self._run_errand(self._obey(wanted))
        else:
            self._dialogue.say(wanted, delivery)
            self._watch.look()

    def _answer(self, word: str) -> None:
        question = next(iter(self._watch.transcript.questions.values()))
        answer = ANSWERS.get(word)
        if answer is None or (answer is Answer.SANDBOX and not question.sandbox):
            self._hint = "f, s or d, then Enter" if question.sandbox else "f or d, then Enter"
        else:
            self._watch.transcript.questions.pop(question.request)
            self._run_errand(self._dialogue.decide(question.request, answer))
        self._screen.refresh()

    async def _cancel(self, *, hold_queue: bool) -> None:
        await self._dialogue.cancel(self._watch.transcript.turn, hold_queue=hold_queue)
        self._watch.look()

    # What the commands do.

    async def _obey(self, invocation: Invocation) -> None:
        argument = invocation.argument or ""
        match invocation.name:
            case "help":
                self._tell(help_lines())
            case "status":
                await self._tell_status()
            case "model":
                await self._configure(Choice(model=argument))
            case "effort":
                await self._configure(Choice(effort=argument))
            case "permissions":
                await self._configure(Choice(mode=PermissionMode(argument)))
            case "cancel":
                await self._cancel(hold_queue=False)
            case "detach":
                self._screen.leave(SUCCESS)
            case "quit":
                await self._quit()

    async def _quit(self) -> None:
        if self._watch.is_busy:
            await self._cancel(hold_queue=False)
        self._screen.leave(SUCCESS)

    async def _configure(self, choice: Choice) -> None:
        await self._dialogue.configure(choice)
        self._tell(["later turns use it"], "dim")
        self._watch.look()

    async def _tell_status(self) -> None:
        status = await self._dialogue.status()
        lines = [status_line(self._standing(), self._screen.width).plain]
        if status is not None:
            jobs = [job.job for job in status.jobs if job.state.value == "running"]
            lines += [f"turns: {status.turns}", f"running jobs: {', '.join(jobs) or 'none'}"]
        self._tell(lines)

    # How it looks.

    def _standing(self) -> Standing:
        status, choice = self._watch.status, self._dialogue.choice
        transcript, record = self._watch.transcript, self._dialogue.record
        return Standing(
            conversation=record.id if record else None,
            model=status.model if status else choice.model or transcript.model,
            mode=(status.mode if status else choice.mode or PermissionMode.ASK).value,
            turn=transcript.turn,
            queued=len(transcript.waiting),
            held=bool(status and status.held),
            asked=len(transcript.questions),
            link=self._watch.link,
            hint=self._hint or self._interrupts.hint,
        )

    def _question_prompt(self) -> str:
        for question in self._watch.transcript.questions.values():
            sandbox = " [s]andbox" if question.sandbox else ""
            return f"allow? [f]ull{sandbox} [d]eny, then Enter: "
        return ""

    def _tell(self, lines: list[str], style: str = "") -> None:
        for line in lines:
            self._screen.print(rows.plain(line, self._screen.width, style))

    def _complain(self, message: str) -> None:
        self._tell([" ".join(message.split())], "red")

    # How work that fails is met.

    def _run_errand(self, work: Coroutine[Any, Any, None]) -> None:
        errand = asyncio.create_task(self._errand(work))
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)
        errand.add_done_callback(self._end_with)

    async def _errand(self, work: Coroutine[Any, Any, None]) -> None:
        """Do one thing that was asked for; a failure of ours is a line and no more."""
        try:
            await work
        except AutolithError as error:
            self._complain(str(error))
        self._screen.refresh()

    def _end_with(self, task: asyncio.Task[None]) -> None:
        """End the session with the failure of a task, for whoever runs the session."""
        if not task.cancelled() and (error := task.exception()):
            self._screen.fail(error)

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            self._screen.fail(error)
        else:
            loop.default_exception_handler(context)
