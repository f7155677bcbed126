"""Search attributes: how the engine is asked what exists.

They are the one thing the server must be able to read, so they hold ids and
states only; the workspace is a keyed digest.
"""

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

KIND = SearchAttributeKey.for_keyword("AutolithKind")
CONVERSATION = SearchAttributeKey.for_keyword("AutolithConversation")
MISSION = SearchAttributeKey.for_keyword("AutolithMission")
STATE = SearchAttributeKey.for_keyword("AutolithState")
WORKSPACE = SearchAttributeKey.for_keyword("AutolithWorkspace")

ALL = (KIND, CONVERSATION, MISSION, STATE, WORKSPACE)

OPEN = "open"
WAITING = "waiting"
"""Somebody has to answer a question."""


def attributes(kind: str, conversation: str, *, workspace: str = "") -> TypedSearchAttributes:
    """Return the attributes of a new workflow."""
    pairs: list[SearchAttributePair[str]] = [
        SearchAttributePair(KIND, kind),
        SearchAttributePair(CONVERSATION, conversation),
    ]
    if workspace:
        pairs.append(SearchAttributePair(WORKSPACE, workspace))
    return TypedSearchAttributes(pairs)
