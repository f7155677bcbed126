"""Why an attempt to get a reply failed; drawn in :mod:`activities.errors`."""

from activities.errors import AutolithError
from workflows.contracts.failure import FailureKind


class ProviderError(AutolithError):
    """An attempt to get a reply failed.

    *output_started* tells whether reasoning or output had begun, which decides how
    often the request may be repeated; *identifiers* are the provider's own ids.
    """

    kind = FailureKind.INTERNAL
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        output_started: bool = False,
        retry_after: float | None = None,
        identifiers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.output_started = output_started
        self.retry_after = retry_after
        self.identifiers = identifiers or {}


class TransportFailure(ProviderError):
    """The connection could not be made or broke before the reply began."""

    kind = FailureKind.TRANSPORT
    retryable = True


class StreamInterrupted(ProviderError):
    """The stream ended early, stalled, or reported a temporary error."""

    kind = FailureKind.STREAM_INTERRUPTED
    retryable = True


class ProviderOverloaded(ProviderError):
    """The provider is temporarily unable to answer."""

    kind = FailureKind.OVERLOADED
    retryable = True


class RateLimited(ProviderError):
    """The account has to wait; *retry_after* says how long if the provider did."""

    kind = FailureKind.RATE_LIMITED


class Unauthorized(ProviderError):
    """The provider does not accept the credential."""

    kind = FailureKind.UNAUTHORIZED


class ProviderRefused(ProviderError):
    """The provider refuses this request; sending it again would not help."""

    kind = FailureKind.REFUSED


class IncompleteReply(ProviderError):
    """The reply was cut at a limit; repeating may help."""

    kind = FailureKind.INCOMPLETE
    retryable = True


class MalformedReply(ProviderError):
    """The reply is complete, but not what the protocol allows."""

    kind = FailureKind.MALFORMED


class NotSent(ProviderError):
    """The request could not even be sent; asking again would not help."""

    kind = FailureKind.CONFIGURATION
