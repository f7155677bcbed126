"""The values that the workflows of these tests exchange."""

from typing import Literal

from workflows.contracts.base import Contract

CANARY = "canary"
"""Occurs in every text that must never be readable outside."""


class Begin(Contract):
    """Start a vault."""

    command: Literal["begin"]
    text: str
    carried: tuple[str, ...] = ()


class Tell(Contract):
    """A signal's argument."""

    command: Literal["tell"]
    text: str


class Ask(Contract):
    """An update's argument."""

    command: Literal["ask"]
    text: str
    filler: str = ""


class Look(Contract):
    """A query's argument."""

    command: Literal["look"]
    text: str = ""


class Order(Contract):
    """An activity's argument."""

    command: Literal["order"]
    text: str
    filler: str = ""


class Word(Contract):
    """Every answer."""

    text: str
    filler: str = ""


class Kept(Contract):
    """The result of an activity that somebody else completes."""

    kept: str
