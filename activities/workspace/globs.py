"""Glob patterns over paths, as ``.gitignore`` reads them.

A pattern without "/" names files at any depth; with one it is anchored at the
workspace.  ``*`` and ``?`` stay inside one component, ``**`` spans any number of them,
and ``{a,b}`` is one of several.  Matching takes time in proportion to both lengths.
"""

import fnmatch
import re
from dataclasses import dataclass

from activities.errors import InvalidArguments

_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 64
_DEEP = None
"""Stands for ``**``."""

Segments = tuple[re.Pattern[str] | None, ...]


@dataclass(frozen=True)
class Glob:
    """One pattern, ready to be matched."""

    pattern: str
    alternatives: tuple[Segments, ...]

    def matches(self, path: str) -> bool:
        """Tell whether *path* (from the workspace, with "/") fits."""
        parts = path.split("/")
        return any(_matches(segments, parts) for segments in self.alternatives)


def read_glob(pattern: str) -> Glob:
    """Return *pattern* ready to be matched.

    Raises:
        InvalidArguments: it stands for nothing, or for too much.
    """
    if not pattern.strip("/"):
        raise InvalidArguments(f"{pattern!r} is not a glob pattern")
    return Glob(pattern, tuple(_segments(one) for one in _expanded(pattern)))


def _expanded(pattern: str) -> list[str]:
    """Return *pattern* once for each choice in its braces."""
    patterns = [pattern]
    while any(_BRACES.search(one) for one in patterns):
        patterns = [choice for one in patterns for choice in _chosen(one)]
        if len(patterns) > _MOST_ALTERNATIVES:
            raise InvalidArguments(f"{pattern!r} has more than {_MOST_ALTERNATIVES} alternatives")
    return patterns


def _chosen(pattern: str) -> list[str]:
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end() :]
    return [f"{head}{choice}{tail}" for choice in match[1].split(",")]


def _segments(pattern: str) -> Segments:
    is_anchored = "/" in pattern.rstrip("/")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if pattern.endswith("/"):
        parts.append("**")
    segments = [_segment(part) for part in parts]
    return tuple(segments if is_anchored else [_DEEP, *segments])


def _segment(part: str) -> re.Pattern[str] | None:
    if part == "**":
        return _DEEP
    # fnmatch keeps stars from backtracking into each other, and spells negation "[!".
    return re.compile(fnmatch.translate(part.replace("[^", "[!")))


def _matches(segments: Segments, parts: list[str]) -> bool:
    """Tell whether *segments* fit *parts*: the reachable ends, one segment after the other."""
    ends = {0}
    for segment in segments:
        if segment is _DEEP:
            ends = set(range(min(ends), len(parts) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(parts) and segment.match(parts[end])}
    return len(parts) in ends
