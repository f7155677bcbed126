"""How much text travels (domain reference 5.1, 3.1, 15.5)."""

RESULT_CHARACTERS = 8_000
"""Ordinary result text is bounded to 8,000 characters."""
MESSAGE_CHARACTERS = 131_072
"""A prompt's content is at most 131,072 characters."""
EXPLANATION_CHARACTERS = 1_000
"""The provider's explanation is shown up to 1,000 characters."""


def clip(text: str, limit: int = RESULT_CHARACTERS) -> str:
    """Return *text* within *limit*, keeping both ends and saying what is missing.

    The end gets two thirds of the room: that is where commands put their errors.
    """
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} or more characters omitted ...]\n"
    room = limit - len(note)
    head = room // 3
    tail = room - head
    return f"{text[:head]}{note}{text[len(text) - tail :]}"
