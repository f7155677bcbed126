"""Fuzzy search of lines: expressions that find candidates, and how alike they are."""

import difflib
import re

from workflows.policy.searches import LONGEST_FUZZY_QUERY

_SPREAD = ".{0,4}?"
"""What may stand between two letters of the query."""
_GAP = ".{0,3}?"
"""What may stand between two words of the query."""
_SHORTEST_MISSPELT = 4
"""A shorter query with a letter left out would match almost anything."""


def expressions(query: str) -> list[str]:
    """Return expressions that match *query* spread out, or with one or two wrong letters."""
    words = " ".join(query.split())[:LONGEST_FUZZY_QUERY]
    letters = [_GAP if letter == " " else re.escape(letter) for letter in words]
    found = [_SPREAD.join(letters)]
    if len(letters) >= _SHORTEST_MISSPELT:
        found += [_without(letters, place, 1, 2) for place in range(len(letters))]
        found += [_without(letters, place, 2, 3) for place in range(len(letters) - 1)]
    return found


def likeness(query: str, found: str) -> float:
    """Return how alike *query* and the text *found* are, from 0 to 1."""
    wanted, given = query.casefold(), found.casefold()
    return difflib.SequenceMatcher(None, wanted, given, autojunk=False).ratio()


def _without(letters: list[str], place: int, count: int, room: int) -> str:
    head, tail = letters[:place], letters[place + count :]
    return "".join(head) + f".{{0,{room}}}" + "".join(tail)
