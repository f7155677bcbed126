"""Autolith's exception hierarchy.

AutolithError
    ConfigurationError
        MalformedFormError
        ScriptError
        MissingKeyError
        UnknownModelError
    ConversationError
        UnknownConversationError
        AmbiguousConversationError
        UnknownRequestError
        Undelivered
    ProviderError
        TransportFailure
        StreamInterrupted
        ProviderOverloaded
        RateLimited
        Unauthorized
        ProviderRefused
        IncompleteReply
        MalformedReply
        NotSent
    ToolError
        InvalidArguments
        UnknownTool
        MalformedUri
        UnknownScheme
        AccessDenied
        OperationUnsupported
        StaleRevision
        MissingResource
        PublicationFailed
        CommandFailed
        SandboxUnavailable
        UnknownOutcome
    StoreError
        StoreUnavailable
        NewerStoreError
        CorruptObjectError
    SealError
        UnsealedPayload
        MalformedPayload
        KeyFileError
    RuntimeStateError
        UnwritableRootError
        LockHeldError
        PortTakenError
        MissingBinaryError
        ServerFailedError
        WorkerFailedError
        ForeignServerError
        EnvironmentDiffersError
        NotRunningError
        ServerUnreachableError

The provider errors live in :mod:`activities.provider.errors`.

Every message is one line that a person can act on, without credentials.
"""

from pathlib import Path


class AutolithError(Exception):
    """Anything that Autolith itself reports; its text is shown as it is."""


class ConfigurationError(AutolithError):
    """Something a person wrote or set cannot be used."""


class MalformedFormError(ConfigurationError):
    """A file or a line is not the s-expression it has to be."""

    def __init__(
        self, reason: str, *, path: Path | None = None, line: int = 0, column: int = 0
    ) -> None:
        place = str(path) if path else "form"
        if line:
            place = f"{place}:{line}:{column}"
        super().__init__(f"{place}: {reason}")
        self.reason, self.path, self.line, self.column = reason, path, line, column


class ScriptError(ConfigurationError):
    """A provider script is a form, but not a script."""


class MissingKeyError(ConfigurationError):
    """The provider wants a key, and there is none in the environment or the store."""


class UnknownModelError(ConfigurationError):
    """No registered provider serves the model."""


class ConversationError(AutolithError):
    """A conversation cannot do what was asked of it."""


class UnknownConversationError(ConversationError):
    """There is no such conversation."""


class AmbiguousConversationError(ConversationError):
    """The abbreviated id fits several conversations."""


class UnknownRequestError(ConversationError):
    """The question is not open (any more)."""


class Undelivered(ConversationError):
    """A message is kept in the store, but the engine has not taken it yet."""


class ToolError(AutolithError):
    """A call failed; the model reads the reason and the turn goes on."""


class InvalidArguments(ToolError):
    """The arguments do not parse or do not fit the schema."""


class UnknownTool(ToolError):
    """No tool has that name."""


class MalformedUri(ToolError):
    """The resource name is not ``scheme:identifier``."""


class UnknownScheme(ToolError):
    """No resource kind has that scheme."""


class AccessDenied(ToolError):
    """The path is outside of what this conversation may touch."""


class OperationUnsupported(ToolError):
    """The resource kind does not know the operation."""


class StaleRevision(ToolError):
    """The resource is not what was observed."""


class MissingResource(ToolError):
    """There is nothing under that name."""


class PublicationFailed(ToolError):
    """The system refused to write the new content of a file."""


class CommandFailed(ToolError):
    """A command could not be started."""


class SandboxUnavailable(ToolError):
    """The command must run in the sandbox, and there is none."""


class UnknownOutcome(ToolError):
    """The call may have run; nobody knows how far."""


class StoreError(AutolithError):
    """The store cannot do its work."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or written, for example because the disk is full."""


class NewerStoreError(StoreError):
    """The store was written by a newer release."""


class CorruptObjectError(StoreError):
    """A stored object does not have the content that its name promises."""


class SealError(AutolithError):
    """A payload could not be sealed or opened."""


class UnsealedPayload(SealError):
    """A payload was not sealed with our key, or for another place."""


class MalformedPayload(SealError):
    """A payload is ours, but not what its place expects."""


class KeyFileError(SealError):
    """The sealing key cannot be read or has the wrong permissions."""


class RuntimeStateError(AutolithError):
    """The embedded runtime is not in the state that the command needs."""


class UnwritableRootError(RuntimeStateError):
    """A root directory cannot be created or written."""


class LockHeldError(RuntimeStateError):
    """Another supervisor serves this state root."""


class PortTakenError(RuntimeStateError):
    """A port that was asked for is in use."""


class MissingBinaryError(RuntimeStateError):
    """A program that Autolith needs is not installed."""


class ServerFailedError(RuntimeStateError):
    """The Temporal server did not come up."""


class WorkerFailedError(RuntimeStateError):
    """The worker did not come up."""


class ForeignServerError(RuntimeStateError):
    """Something else answers at the address of our server."""


class EnvironmentDiffersError(RuntimeStateError):
    """The running worker was started with other provider variables."""


class NotRunningError(RuntimeStateError):
    """Nothing is running here."""


class ServerUnreachableError(RuntimeStateError):
    """The Temporal server does not answer."""
