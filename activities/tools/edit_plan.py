"""What the operations of one edit make of the observed content.  No file is touched."""

from collections.abc import Sequence
from dataclasses import dataclass

from activities.errors import InvalidArguments, OperationUnsupported
from activities.tools.line_operations import LineOperation, Operation, ReplaceEmpty
from activities.workspace.lines import FileText, Splice, demand_text, ordered, parse, spliced
from activities.workspace.ranges import Ranges, covers, spelled
from workflows.policy.resources import FILE_BYTES


@dataclass(frozen=True)
class Plan:
    """A content before and after, and the changes between them."""

    before: FileText
    after: FileText
    splices: tuple[Splice, ...]

    @property
    def content(self) -> bytes:
        """What the file will hold."""
        return self.after.as_bytes()


def plan(content: bytes | None, shown: Ranges, operations: Sequence[Operation]) -> Plan:
    """Apply *operations* to *content*, of which the lines *shown* may be touched.

    Raises:
        OperationUnsupported: the content is nothing that line edits could keep intact.
        InvalidArguments: an operation does not fit the content.
    """
    before = parse(content or b"")
    if before.obstacle:
        raise OperationUnsupported(f"The file cannot be edited: it {before.obstacle}")
    edits = [operation for operation in operations if isinstance(operation, LineOperation)]
    fills = [operation for operation in operations if isinstance(operation, ReplaceEmpty)]
    planned = _filled(before, operations, fills) if fills else _edited(before, shown, edits)
    if len(planned.content) > FILE_BYTES:
        raise InvalidArguments(f"The file would become larger than {FILE_BYTES} bytes")
    return planned


def _filled(
    before: FileText, operations: Sequence[Operation], fills: Sequence[ReplaceEmpty]
) -> Plan:
    if len(operations) > 1:
        raise InvalidArguments("replace-empty must be the only operation")
    if before.lines:
        raise InvalidArguments("The file is not empty, so replace-empty does not apply")
    demand_text(fills[0].text)
    after = parse(before.as_bytes() + fills[0].text.encode())
    if after.obstacle:
        raise InvalidArguments(f"The text {after.obstacle}")
    return Plan(before, after, (Splice(1, 0, after.lines),))


def _edited(before: FileText, shown: Ranges, edits: Sequence[LineOperation]) -> Plan:
    total = len(before.lines)
    if not total:
        raise InvalidArguments("The file has no lines; only replace-empty applies")
    for edit in edits:
        _demand_shown(*edit.touched, shown, total)
    splices = ordered((edit.splice() for edit in edits), total)
    return Plan(before, spliced(before, splices), splices)


def _demand_shown(first: int, last: int, shown: Ranges, total: int) -> None:
    if max(first, last) > total:
        raise InvalidArguments(f"There is no line {max(first, last)}; the file has {total}")
    if first <= last and not covers(shown, first, last):
        raise InvalidArguments(
            f"Lines {first}-{last} were not all shown in full "
            f"(shown: {spelled(shown) or 'none'}); read them first"
        )
