"""The command line's entry: global options, and commands that load when invoked.

``autolith --help`` answers from the table below and imports no command, so it
stays well under 150 ms.  Every file of ``cli/commands`` holds one command of the
same name.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from cli import options
from cli.application import Application
from cli.failures import guarded

WORK = {
    "run": "Run one turn without a terminal and print the answer.",
    "attach": "Open an existing conversation interactively.",
    "tell": "Send a message to a conversation: steer or queue.",
    "cancel": "Cancel the running turn, or one job.",
    "decide": "Answer an open permission question.",
    "configure": "Change a conversation's model, effort or permissions.",
    "ls": "List conversations and where they stand.",
    "show": "Print a conversation's transcript.",
    "export": "Write a conversation as Markdown or JSON.",
}
MODELS = {
    "models": "Print every known model id.",
    "auth": "Store or remove a provider's key.",
    "provider": "Serve a scripted provider for tests and dry runs.",
}
RUNTIME = {
    "up": "Start the runtime: supervisor, server and worker.",
    "down": "Stop the runtime gracefully.",
    "status": "Show what runs.",
    "doctor": "Check the installation and the runtime.",
    "worker": "Run one worker in the foreground.",
    "ui": "Open the Temporal Web UI for this runtime.",
    "demo": "Show a coding task that survives two killed workers.",
}
SECTIONS = {"Work": WORK, "Models": MODELS, "Runtime": RUNTIME}
COMMANDS = {name: text for section in SECTIONS.values() for name, text in section.items()}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are invoked, never to be listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's
        """Import the module of *cmd_name* and return its command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"cli.commands.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's
        """Write the sections of the table."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(rows.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--address",
    envvar="AUTOLITH_TEMPORAL_ADDRESS",
    type=options.HostPort(),
    help="Use this Temporal cluster instead of the embedded one.",
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.option("--model", metavar="NAME", help="Model of the new conversation.")
@click.option(
    "--permissions",
    type=click.Choice(options.MODES),
    help="How commands are judged.",
)
@click.option("--workspace", metavar="DIR", help="Work there instead of here.")
@click.option("--conversation", metavar="ID", help="Reopen this conversation.")
@click.version_option(package_name="autolith", prog_name="autolith")
@click.pass_context
def autolith(
    context: click.Context,
    address: str | None,
    debug: bool,  # noqa: FBT001 -- click passes flags by name
    model: str | None,
    permissions: str | None,
    workspace: str | None,
    conversation: str | None,
) -> int | None:
    """Autolith: a coding agent whose work cannot be lost.

    Without a command it opens a conversation in the current directory.
    """
    app = context.ensure_object(Application)
    app.address, app.debug = address, debug
    chosen = {
        "model": model,
        "permissions": permissions,
        "workspace": workspace,
        "conversation": conversation,
    }
    if context.invoked_subcommand is None:
        from cli.terminal.door import converse  # noqa: PLC0415 -- the terminal is heavy

        return converse(app, **chosen)
    for name, value in chosen.items():
        if value is not None:
            raise click.UsageError(f"--{name} goes after the command", context)
    return None


def main(prog_name: str = "autolith", arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its status."""
    app = Application()
    given = list(sys.argv[1:] if arguments is None else arguments)

    def invoke() -> object:
        with autolith.make_context(prog_name, given, obj=app) as context:
            return autolith.invoke(context)

    status = guarded(invoke, debug=lambda: app.debug)
    if "temporalio" in sys.modules:
        # The SDK may abort in the interpreter's finalisation (temporal facts 6).
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
