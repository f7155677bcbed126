"""``resource.read`` and ``resource.edit``: one door to everything that has a URI."""

import re
from collections.abc import Mapping

from activities.errors import MalformedUri, UnknownScheme
from activities.tools.resource_kind import EditArguments, ReadArguments, ResourceKind
from activities.tools.tool import Tool, ToolContext, ToolResult
from workflows.contracts.tool import Concurrency, EffectClass
from workflows.policy.resources import LABEL_CHARACTERS

_URI = re.compile(r"([a-z][a-z0-9-]*):(.+)", re.DOTALL)


class ResourceRead(Tool[ReadArguments]):
    """Reads what a URI names."""

    name = "resource.read"
    description = (
        "Read a resource. workspace:PATH gives numbered lines of a file (NUMBER|TEXT; the number "
        "and the bar are not part of the file), the sorted entries of a directory, or the fact "
        "that nothing is there; shell-log:REF gives bytes of retained command output. A file "
        "comes with a revision, which resource.edit needs. In a path, write a space as %20."
    )
    effect = EffectClass.OBSERVE
    arguments = ReadArguments

    def __init__(self, kinds: Mapping[str, ResourceKind]) -> None:
        self._kinds = kinds

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        """Pass the call to the kind that its URI names."""
        kind, identifier = select(self._kinds, arguments.uri)
        return await kind.read(identifier, arguments, context)

    def label(self, arguments: ReadArguments) -> str:
        """Return ``read PATH`` with the first line that was asked for."""
        line = f":{arguments.start_line}" if arguments.start_line else ""
        return f"read {_short(arguments.uri)}{line}"


class ResourceEdit(Tool[EditArguments]):
    """Edits what a URI names, against a revision that was observed."""

    name = "resource.edit"
    description = (
        "Edit a resource that was read: give its revision and operations on the lines that were "
        "shown. All line numbers are those of that revision, and all operations are applied "
        "together or not at all. The answer brings the new revision for the next edit. Create a "
        "file by reading its path first (nothing is there), then replace-empty. Give text with "
        "exact indentation and without line numbers; line endings are kept."
    )
    # The base and the operations determine the result, so a repeated attempt finds its own work.
    effect = EffectClass.KEYED
    concurrency = Concurrency.EXCLUSIVE
    arguments = EditArguments

    def __init__(self, kinds: Mapping[str, ResourceKind]) -> None:
        self._kinds = kinds

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        """Pass the call to the kind that its URI names."""
        kind, identifier = select(self._kinds, arguments.uri)
        return await kind.edit(identifier, arguments, context)

    def label(self, arguments: EditArguments) -> str:
        """Return ``edit PATH`` with the number of operations when there are several."""
        count = len(arguments.operations)
        return f"edit {_short(arguments.uri)}" + (f" ({count} changes)" if count > 1 else "")


def select(kinds: Mapping[str, ResourceKind], uri: str) -> tuple[ResourceKind, str]:
    """Return the kind that serves *uri*, and the identifier for it.

    Raises:
        MalformedUri: it is not ``scheme:identifier``.
        UnknownScheme: nothing serves the scheme.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise MalformedUri(
            f"{uri[:LABEL_CHARACTERS]!r} is not scheme:identifier, like workspace:a.py"
        )
    scheme, identifier = match.groups()
    if not identifier.isprintable() or " " in identifier:
        raise MalformedUri(
            f"{uri[:LABEL_CHARACTERS]!r} holds a space or a control character; "
            "in a path, write them as %20, %0A and so on"
        )
    if scheme not in kinds:
        raise UnknownScheme(f"Nothing serves {scheme}: (there is {', '.join(sorted(kinds))})")
    return kinds[scheme], identifier


def _short(uri: str) -> str:
    place = uri.removeprefix("workspace:")
    return place if len(place) <= LABEL_CHARACTERS else f"...{place[3 - LABEL_CHARACTERS :]}"
