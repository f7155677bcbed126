"""Contents that a conversation has observed, kept as long as their revision is."""

from activities.store.objects import ObjectDirectory

DIRECTORY = "snapshots"


class SnapshotDirectory(ObjectDirectory):
    """Objects of their own that, unlike all others, may be dropped."""

    def __init__(self, objects: ObjectDirectory) -> None:
        super().__init__(objects.root / DIRECTORY)

    def drop(self, names: frozenset[str]) -> None:
        """Remove what no revision refers to any more."""
        for name in names:
            self._path(name).unlink(missing_ok=True)
