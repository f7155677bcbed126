"""What a request cost, as far as the provider said.  None means it did not say."""

from workflows.contracts.base import Contract


class Usage(Contract):
    """Token counts of one request."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    cached: int | None = None
    reasoning: int | None = None
