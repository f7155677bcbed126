"""How long a provider asks us to wait."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 365 * 24 * 3600.0
"""Nobody means more; and a longer one may not fit the types it passes through."""

_IN_WORDS = re.compile(
    r"try again in\s+(?:(\d{1,9})m(?!s))?\s*(?:(\d{1,9}(?:\.\d+)?)\s*(ms|s(?:econds?)?)\b)?",
    re.IGNORECASE,
)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that the headers ask for, or None.

    ``retry-after-ms`` is the more exact one, but only if it is usable.  A date is
    taken relative to the server's own ``Date``, since our clock may be wrong.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _seconds(value)
    return _until(value, headers, now) if seconds is None else seconds


def retry_after_in_words(message: str) -> float | None:
    """Return the seconds in a sentence such as ``Please try again in 1.2s``, or None."""
    match = _IN_WORDS.search(message)
    if not match or not (match.group(1) or match.group(2)):
        return None
    amount = float(match.group(2) or 0)
    seconds = amount / 1000 if (match.group(3) or "").lower() == "ms" else amount
    return min(60.0 * int(match.group(1) or 0) + seconds, LONGEST)


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return min(seconds, LONGEST) if seconds >= 0 and not math.isnan(seconds) else None


def _until(value: str, headers: Mapping[str, str], now: datetime | None) -> float | None:
    moment = _date(value)
    if moment is None:
        return None
    start = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return min(max((moment - start).total_seconds(), 0.0), LONGEST)


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
