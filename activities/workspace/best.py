"""The best few of very many, without keeping the many."""

from activities.workspace.closeness import Rank


class Best:
    """Keeps the *size* smallest ranks of all that were added, and counts them all."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[Rank] = []
        self.count = 0

    def add(self, candidate: Rank) -> None:
        """Take *candidate* into account."""
        self.count += 1
        self._kept.append(candidate)
        if len(self._kept) >= 2 * self._size:
            self._trim()

    def result(self) -> list[Rank]:
        """Return the smallest, in order."""
        self._trim()
        return list(self._kept)

    def _trim(self) -> None:
        self._kept.sort()
        del self._kept[self._size :]
