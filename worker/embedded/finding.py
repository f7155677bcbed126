"""What one check of ``autolith doctor`` has found."""

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; *advice* says what to do about it."""

    check: str
    grade: Grade
    text: str
    advice: str = ""


def ok(check: str, text: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(check, Grade.OK, text)


def warn(check: str, text: str, advice: str = "") -> Finding:
    """Return the finding that something will not work as well as it could."""
    return Finding(check, Grade.WARN, text, advice)


def fail(check: str, text: str, advice: str = "") -> Finding:
    """Return the finding that something cannot work."""
    return Finding(check, Grade.FAIL, text, advice)
