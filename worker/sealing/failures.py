"""Failures, sealed: message, stack trace and type of what we raise, and nobody else's word for it.

Temporal decides by a failure's type, which travels in clear, and shows its
message.  Ours therefore carry all three a second time, sealed, and a failure of
an activity or a workflow that does not is taken for what it is: not ours.
"""

import json
from typing import Any, Final

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, PayloadConverter

from activities.errors import UnsealedPayload
from worker.sealing.seal import is_refused

ENCODED: Final = "Encoded failure"
"""What stands in clear where a message was (the SDK's own words for it)."""
SAID_BY_SERVER: Final = {
    "AcceptedUpdateCompletedWorkflow": "the workflow ended before it answered",
    "UnprocessedUpdate": "the worker did not process the request",
}
"""Failures of updates that the server makes itself, by type, and what they mean."""


class SealedFailureConverter(DefaultFailureConverter):
    """Writes failures whose text the codec seals, and believes only such failures."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Convert *exception*, its text moved to where the codec seals it."""
        super().to_failure(exception, payload_converter, failure)
        vouch(failure)

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        """Convert *failure*; one that claims to be ours and is not sealed is refused."""
        if failure.WhichOneof("failure_info") == "application_failure_info":
            believed = _believed(failure, payload_converter)
        else:
            believed = _without_refused(failure)
        return super().from_failure(believed, payload_converter)


def vouch(failure: Failure) -> None:
    """Move the text of *failure*, which is known to be ours, to where the codec seals it."""
    attributes = {
        "message": failure.message,
        "stack_trace": failure.stack_trace,
        "type": failure.application_failure_info.type,
    }
    failure.encoded_attributes.CopyFrom(
        Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(attributes).encode())
    )
    failure.message, failure.stack_trace = ENCODED, ""


def refused_failure(reason: str) -> Failure:
    """Return the failure that stands for something which was refused."""
    failure = Failure(message=reason)
    failure.application_failure_info.type = UnsealedPayload.__name__
    failure.application_failure_info.non_retryable = True
    return failure


def _believed(failure: Failure, payload_converter: PayloadConverter) -> Failure:
    """Return *failure* if it is sealed as it stands, or one that says that it is not."""
    said = failure.application_failure_info
    if not failure.HasField("encoded_attributes"):
        known = SAID_BY_SERVER.get(said.type)
        if known is None:
            return refused_failure("A failure was refused: it is not sealed")
        server = refused_failure(known)
        server.application_failure_info.type = said.type
        return server
    attributes = _attributes(failure.encoded_attributes, payload_converter)
    if attributes.get("type") != said.type or _has_refused(said.details):
        return refused_failure("A failure was refused: it is not what was sealed")
    return failure


def _attributes(payload: Payload, payload_converter: PayloadConverter) -> dict[str, Any]:
    if is_refused(payload):
        return {}
    attributes = payload_converter.from_payload(payload)
    return attributes if isinstance(attributes, dict) else {}


def _without_refused(failure: Failure) -> Failure:
    """Return the server's *failure* without details that cannot be opened."""
    cleaned = Failure()
    cleaned.CopyFrom(failure)
    if is_refused(cleaned.encoded_attributes):
        cleaned.ClearField("encoded_attributes")
    if _has_refused(cleaned.timeout_failure_info.last_heartbeat_details):
        cleaned.timeout_failure_info.ClearField("last_heartbeat_details")
    if _has_refused(cleaned.canceled_failure_info.details):
        cleaned.canceled_failure_info.ClearField("details")
    return cleaned


def _has_refused(details: Payloads) -> bool:
    return any(is_refused(payload) for payload in details.payloads)
