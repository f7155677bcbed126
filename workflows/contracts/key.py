"""Our own identities: where in a conversation a thing belongs.

Rows and contracts are keyed by (conversation, turn, request, ordinal), never by
an id that a provider invented: some servers repeat those.
"""

from workflows.contracts.base import Contract


class TurnKey(Contract):
    """One turn of one conversation; turns count from 1."""

    conversation: str
    turn: int


class RequestKey(TurnKey):
    """One numbered provider request of a turn; requests count from 1."""

    request: int

    def call(self, ordinal: int) -> "CallKey":
        """Return the key of the call at *ordinal* of this request's reply."""
        return CallKey(
            conversation=self.conversation,
            turn=self.turn,
            request=self.request,
            ordinal=ordinal,
        )


class CallKey(RequestKey):
    """One tool call, by its place (from 0) in the reply that asked for it."""

    ordinal: int

    @property
    def execution(self) -> str:
        """Name the one execution this call may ever start, usable as a file name."""
        return f"{self.conversation}.{self.turn}.{self.request}.{self.ordinal}"
