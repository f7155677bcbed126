"""How well a path fits what somebody half remembers.

Every word of the query has to occur: as the file's name, in it, in the path, as its
letters in order, or nearly.  Smaller is better, and shorter paths win ties.
"""

import difflib

NEARLY = 0.82
"""How alike a misspelt word and a part of the file's name must be."""

Rank = tuple[int, int, str]


def rank(query: str, path: str) -> Rank | None:
    """Return the place of *path* among the answers to *query*, or None if it is none."""
    folded = path.casefold()
    total = 0
    for word in query.casefold().split():
        distance = _distance(word, folded)
        if distance is None:
            return None
        total += distance
    return total, len(path), path


def _distance(word: str, path: str) -> int | None:
    name = path.rpartition("/")[2]
    grades = (
        word in (name, path),
        name.partition(".")[0] == word,
        name.startswith(word),
        word in name,
        word in path,
        _is_spread(word, name),
        _is_spread(word, path),
    )
    for grade, holds in enumerate(grades):
        if holds:
            return grade
    return len(grades) if _is_nearly(word, name) else None


def _is_spread(word: str, text: str) -> bool:
    """Tell whether the letters of *word* occur in *text* in their order."""
    place = 0
    for letter in word:
        place = text.find(letter, place) + 1
        if not place:
            return False
    return True


def _is_nearly(word: str, name: str) -> bool:
    matcher = difflib.SequenceMatcher(b=word, autojunk=False)
    for candidate in {name, name.partition(".")[0]}:
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() >= NEARLY and matcher.ratio() >= NEARLY:
            return True
    return False
