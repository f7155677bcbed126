"""How well a path fits what somebody half remembers.

Every word of the query has to occur: as the file's name, in it, in the path, as its
letters in order, or nearly.  Smaller is better, and shorter paths win ties.
"""

import difflib

NEARLY = 0.82
"""How alike a misspelt word and the file's name must be."""
SHORTEST_MISSPELT = 4
"""Shorter words are nearly anything."""

Rank = tuple[int, int, str]


class Wanted:
    """A query, prepared for very many paths."""

    def __init__(self, query: str) -> None:
        self._words = [(word, _matcher(word)) for word in query.casefold().split()]

    def rank(self, path: str) -> Rank | None:
        """Return the place of *path* among the answers, or None if it is none."""
        folded = path.casefold()
        name = folded.rpartition("/")[2]
        total = 0
        for word, matcher in self._words:
            if _is_spread(word, folded):
                total += _grade(word, name, folded)
            elif _is_nearly(matcher, word, name):
                total += _WORST
            else:
                return None
        return total, len(path), path


_WORST = 7


def _grade(word: str, name: str, path: str) -> int:
    """Return how far from exact *word* is, which occurs at least letter by letter."""
    grades = (
        word in (name, path),
        name.partition(".")[0] == word,
        name.startswith(word),
        word in name,
        word in path,
        _is_spread(word, name),
        True,
    )
    return grades.index(True)


def _is_spread(word: str, text: str) -> bool:
    """Tell whether the letters of *word* occur in *text* in their order."""
    place = 0
    for letter in word:
        place = text.find(letter, place) + 1
        if not place:
            return False
    return True


def _matcher(word: str) -> difflib.SequenceMatcher[str]:
    return difflib.SequenceMatcher(b=word, autojunk=False)


def _is_nearly(matcher: difflib.SequenceMatcher[str], word: str, name: str) -> bool:
    if len(word) < SHORTEST_MISSPELT:
        return False
    for candidate in (name, name.partition(".")[0]):
        matcher.set_seq1(candidate)
        # From the cheapest bound to the truth.
        bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
        if all(bound() >= NEARLY for bound in bounds):
            return True
    return False
