"""``autolith auth``: store or remove a provider's key."""

import sys

import click

from activities.errors import ConfigurationError, MissingKeyError
from activities.provider.credentials import Credentials
from activities.provider.registry import OPENAI
from cli.application import Application

PROVIDERS = (OPENAI,)
PASTE_BRACKETS = ("\x1b[200~", "\x1b[201~")
"""What a terminal puts around a paste when somebody forgot to ask it not to."""


@click.command()
@click.argument("provider", type=click.Choice(PROVIDERS))
@click.option("--remove", is_flag=True, help="Forget the stored key.")
@click.pass_obj
def auth(app: Application, provider: str, *, remove: bool) -> None:
    """Store the key of PROVIDER, typed without echo or given on standard input."""
    credentials = Credentials(app.roots.state)
    if not remove:
        credentials.save(provider, read_key(provider))
        click.echo(f"The key of {provider} is stored")
    elif credentials.remove(provider):
        click.echo(f"The key of {provider} is removed")
    else:
        raise MissingKeyError(f"There is no stored key of {provider}")


def read_key(provider: str) -> str:
    """Return the key that a person types or a pipe brings, without paste brackets.

    Raises:
        ConfigurationError: it is empty.
    """
    if sys.stdin.isatty():
        typed: str = click.prompt(f"Key of {provider}", hide_input=True, default="", err=True)
    else:
        typed = sys.stdin.readline()
    for bracket in PASTE_BRACKETS:
        typed = typed.replace(bracket, "")
    if not typed.strip():
        raise ConfigurationError("No key was given")
    return typed.strip()
