"""Commands typed at the prompt: ``/name args`` and ``(name args)`` are the same call.

``//`` sends text that begins with a slash.  A form holds literal arguments only and
is never evaluated.
"""

from dataclasses import dataclass

from activities.configuration.forms import Form, Keyword, Symbol, parse_form
from activities.errors import ConfigurationError
from workflows.contracts.permission import PermissionMode


@dataclass(frozen=True)
class Command:
    """What one command takes and does."""

    argument: str
    """The hint for its one argument; empty when it takes none."""
    description: str
    options: tuple[str, ...] = ()
    is_required: bool = False


COMMANDS = {
    "help": Command("", "list the commands and keys"),
    "status": Command("", "show where the conversation stands"),
    "model": Command("NAME", "answer later turns with another model", is_required=True),
    "effort": Command("LEVEL", "change the reasoning effort", is_required=True),
    "permissions": Command(
        "MODE",
        "change how commands are judged",
        options=tuple(mode.value for mode in PermissionMode),
        is_required=True,
    ),
    "cancel": Command("", "cancel the running turn"),
    "detach": Command("", "leave; the turn goes on"),
    "quit": Command("", "cancel the running turn and leave"),
}
ALIASES = {"exit": "quit"}


@dataclass(frozen=True)
class Invocation:
    """A command with its one argument, or without."""

    name: str
    argument: str | None = None


def read_input(text: str) -> Invocation | str:
    """Return the command that *text* invokes, or the message that it is.

    Raises:
        ConfigurationError: it looks like a command, and is none.
    """
    if text.startswith("//"):
        return text[1:]
    if text.startswith("/"):
        return _checked(*text[1:].split())
    if text.startswith("("):
        return _checked(*_words(parse_form(text)))
    return text


def help_lines() -> list[str]:
    """Return what ``(help)`` prints."""
    spelled = {name: f"({name} {command.argument})" for name, command in COMMANDS.items()}
    lines = [
        f"{spelled[name].replace(' )', ')'):<22} {command.description}"
        for name, command in COMMANDS.items()
    ]
    return [
        *lines,
        "Enter sends, and steers a running turn; Tab queues; Alt-Enter breaks the line.",
        "Escape cancels the turn; Ctrl-C cancels it and holds the queue; Ctrl-D leaves.",
    ]


def _words(form: Form) -> list[str]:
    """Return the words of a form; a prompt form is the text itself."""
    if not isinstance(form, tuple) or not form or not isinstance(form[0], Symbol):
        raise ConfigurationError("A form is (command arguments)")
    return [_word(part) for part in form]


def _word(part: Form) -> str:
    if isinstance(part, Symbol | Keyword):
        return part.name
    if isinstance(part, str | int | float):
        return str(part)
    raise ConfigurationError("Arguments are strings, numbers or keywords")


def _checked(name: str = "", *arguments: str) -> Invocation:
    """Return the invocation, if there is such a command and it takes this."""
    known = ALIASES.get(name, name)
    command = COMMANDS.get(known)
    if command is None:
        raise ConfigurationError(f"There is no command {name!r}; (help) lists them")
    if len(arguments) > bool(command.argument) or len(arguments) < command.is_required:
        usage = f"({known} {command.argument})" if command.argument else f"({known})"
        raise ConfigurationError(f"Usage: {usage}")
    if command.options and arguments and arguments[0] not in command.options:
        raise ConfigurationError(f"Usage: ({known} {'|'.join(command.options)})")
    return Invocation(known, arguments[0] if arguments else None)
