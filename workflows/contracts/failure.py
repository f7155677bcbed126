"""The names of failed attempts.  A module of its own, so that errors load without pydantic."""

from enum import StrEnum


class FailureKind(StrEnum):
    """Why an attempt failed; the typed names of domain reference 15.5 and 22b."""

    TRANSPORT = "transport"
    STREAM_INTERRUPTED = "stream-interrupted"
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate-limited"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    INCOMPLETE = "incomplete"
    MALFORMED = "malformed"
    WORKER_LOST = "worker-lost"
    STREAM_ABANDONED = "stream-abandoned"
    INTERNAL = "internal"
    CONFIGURATION = "configuration"
