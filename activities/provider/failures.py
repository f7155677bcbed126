"""One translation from what goes wrong in an transmission to the typed provider errors.

Every error carries the provider's own words, one line of at most 1,000 characters
from which the key has been removed, the provider's ids, and whether output began.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pydantic_core

from activities.provider.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderRefused,
    RateLimited,
    StreamInterrupted,
    Unauthorized,
)
from activities.provider.retry_after import retry_after, retry_after_in_words
from workflows.policy.bounds import EXPLANATION_CHARACTERS

RETRYABLE_STATUSES = frozenset({500, 502, 503, 504, 507, 529})
"""Retryable HTTP statuses (domain reference 7.4); 529 is Anthropic's overload (A-09)."""
OVERLOAD_CODES = frozenset(
    {
        "server_error",
        "internal_server_error",
        "server_is_overloaded",
        "slow_down",
        "overloaded_error",
        "overloaded",
        "api_error",
        "service_unavailable",
    }
)
"""Retryable stream error codes (domain reference 7.4), and two that gateways use for them."""
RATE_CODES = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "rate_limited", "insufficient_quota"}
)
"""A rate limit inside a stream takes the same path as HTTP 429 (domain reference 22)."""
CREDENTIAL_CODES = frozenset(
    {"invalid_api_key", "authentication_error", "permission_error", "permission_denied"}
)
PERMANENT_MARKS = (
    "invalid", "not_found", "unsupported", "too_large", "too_long", "context_length",
    "content_filter", "policy", "billing", "badrequest", "bad_request",
)  # fmt: skip
"""Permanent provider errors must fail at once; a code with one of these is permanent."""


SHORTEST_SECRET = 4
"""A local server's "key" of a letter or two is no secret, and would eat every word."""

_STATUS = re.compile("[45][0-9]{2}", re.ASCII)


@dataclass
class Transmission:
    """One attempt, and what is known about it so far."""

    provider: str
    secrets: tuple[str, ...] = ()
    output_started: bool = False
    identifiers: dict[str, str] = field(default_factory=dict)

    def identify(self, name: str, value: object) -> None:
        """Keep the first non-empty value of an identifier."""
        if name not in self.identifiers and isinstance(value, str) and value:
            self.identifiers[name] = self.line(value)

    def failure(
        self,
        kind: type[ProviderError],
        explanation: str,
        *,
        status: int | None = None,
        code: str | None = None,
        wait: float | None = None,
    ) -> ProviderError:
        """Return the error of this transmission that says *explanation*."""
        return kind(
            f"{self.provider}: {self.line(explanation)}",
            status=status,
            code=code and self.line(code),
            output_started=self.output_started,
            retry_after=wait,
            identifiers=dict(self.identifiers),
        )

    def line(self, text: str) -> str:
        """Return *text* without secrets, on one line, within the bound.

        The secrets go first: one that the bound cuts would no longer be recognised.
        """
        for secret in self.secrets:
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "[redacted]")
        text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        if len(text) <= EXPLANATION_CHARACTERS:
            return text
        return f"{text[: EXPLANATION_CHARACTERS - 1]}…"


def status_failure(
    transmission: Transmission, status: int, headers: Mapping[str, str], content: bytes
) -> ProviderError:
    """Return the failure that an HTTP status other than success means."""
    body = _json(content)
    report = _report(body)
    if isinstance(body, dict):
        transmission.identify("request-id", body.get("request_id"))
    explanation = _explanation(report) or content[:4096].decode("utf-8", "replace")
    kind = _status_kind(status) or ProviderRefused
    return transmission.failure(
        kind,
        f"HTTP {status}: {explanation or 'no explanation'}",
        status=status,
        code=_code(report),
        wait=_wait(kind, headers, explanation),
    )


def stream_failure(transmission: Transmission, report: object) -> ProviderError:
    """Return the failure that an error inside a successful stream means."""
    explanation = _explanation(report) or "the provider reported an error without a message"
    status = _status(report)
    names = _names(report)
    kind = _stream_kind(status, names)
    return transmission.failure(
        kind,
        explanation,
        status=status,
        code=_code(report),
        wait=_wait(kind, {}, explanation),
    )


def _wait(kind: type[ProviderError], headers: Mapping[str, str], words: str) -> float | None:
    asked = retry_after(headers)
    return retry_after_in_words(words) if asked is None and kind is RateLimited else asked


def _status_kind(status: int | None) -> type[ProviderError] | None:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Unauthorized
    return ProviderOverloaded if status in RETRYABLE_STATUSES else None


def _stream_kind(status: int | None, names: frozenset[str]) -> type[ProviderError]:
    if kind := _status_kind(status):
        return kind
    if names & RATE_CODES:
        return RateLimited
    if names & CREDENTIAL_CODES:
        return Unauthorized
    if names & OVERLOAD_CODES:
        return ProviderOverloaded
    if (status and status < HTTPStatus.INTERNAL_SERVER_ERROR) or any(
        mark in name for mark in PERMANENT_MARKS for name in names
    ):
        return ProviderRefused
    return StreamInterrupted


def _json(content: bytes) -> object:
    try:
        return pydantic_core.from_json(content)
    except ValueError:
        return None


def _report(body: object) -> object:
    """Return the part of an error answer that speaks, wherever servers put it."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        return body.get("error") or body.get("errors") or body.get("detail") or body
    return body


def _explanation(report: object) -> str:
    if isinstance(report, str):
        return report
    if isinstance(report, list):
        return "; ".join(filter(None, map(_explanation, report)))
    if not isinstance(report, dict):
        return ""
    message = report.get("message") or report.get("msg") or report.get("error") or ""
    words = message if isinstance(message, str) else _explanation(message)
    # An aggregator's own sentence says nothing; what its upstream said is beside it.
    metadata = report.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{words}: {upstream}" if isinstance(upstream, str) and upstream else words


def _names(report: object) -> frozenset[str]:
    """Return the symbolic codes of an error, in lower case."""
    if not isinstance(report, dict):
        return frozenset()
    values = (report.get(key) for key in ("code", "type", "status"))
    return frozenset(value.lower() for value in values if isinstance(value, str))


def _status(report: object) -> int | None:
    """Return the HTTP status inside an error, which gateways pass on as its code."""
    if not isinstance(report, dict):
        return None
    for key in ("status_code", "code", "status"):
        value = report.get(key)
        number = int(value) if isinstance(value, str) and _STATUS.fullmatch(value) else value
        if isinstance(number, int) and _STATUS.fullmatch(str(number)):
            return number
    return None


def _code(report: Any) -> str | None:
    if not isinstance(report, dict):
        return None
    value = report.get("code") or report.get("type")
    return str(value) if isinstance(value, str | int) else None
