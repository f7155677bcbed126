"""A bounded look at captured output: the beginning, and above all the end."""

from collections.abc import Mapping
from dataclasses import dataclass

from activities.shell.capture_reader import CaptureReader, Window
from activities.shell.decoding import (
    LONGEST_CHARACTER,
    character_start,
    decode,
    unfinished,
)
from workflows.policy.captures import PREVIEW_BYTES, PREVIEW_END_SHARE, PREVIEW_STDERR_SHARE


@dataclass(frozen=True)
class Preview:
    """What fits into a result.  That something is missing is said beside the text."""

    text: str
    omitted: int
    """How many bytes of the output are not in the text."""


def preview(streams: Mapping[str, CaptureReader], room: int = PREVIEW_BYTES) -> Preview:
    """Sample *streams* within *room* bytes; of two, standard error gets more of it."""
    shares = _shares({name: stream.figures().observed for name, stream in streams.items()}, room)
    samples = {name: _sample(stream, shares[name]) for name, stream in streams.items()}
    texts = [
        sample.text if len(streams) == 1 else f"[{name}]\n{sample.text}"
        for name, sample in samples.items()
        if sample.text
    ]
    return Preview("\n".join(texts), sum(sample.omitted for sample in samples.values()))


def _shares(sizes: Mapping[str, int], room: int) -> dict[str, int]:
    """Divide *room*; what one stream does not need goes to the other."""
    shares: dict[str, int] = {}
    left = room
    # The smaller its need, the earlier a stream is served in full.
    for name, size in sorted(sizes.items(), key=lambda item: item[1] / _weight(item[0])):
        waiting = [_weight(other) for other in sizes if other not in shares]
        shares[name] = min(size, int(left * _weight(name) / sum(waiting)))
        left -= shares[name]
    return shares


def _weight(stream: str) -> float:
    return 1 - PREVIEW_STDERR_SHARE if stream == "stdout" else PREVIEW_STDERR_SHARE


def _sample(stream: CaptureReader, room: int) -> Preview:
    figures = stream.figures()
    if figures.observed <= room:
        whole = stream.window(0, room)
        if len(whole.data) == figures.observed:
            return Preview(decode(whole.data), 0)
    end = _end(stream, int(room * PREVIEW_END_SHARE))
    beginning = _beginning(stream, min(room - len(end.data), end.start))
    omitted = figures.observed - len(beginning) - len(end.data)
    note = f"\n[... {omitted:,} bytes omitted ...]\n"
    return Preview(f"{decode(beginning)}{note}{decode(end.data)}", omitted)


def _beginning(stream: CaptureReader, room: int) -> bytes:
    data = stream.window(0, room).data
    return data[: len(data) - unfinished(data)]


def _end(stream: CaptureReader, room: int) -> Window:
    """Return the last bytes that are there, from the start of a character on."""
    first, last = (stream.retained() or [(0, 0)])[-1]
    start = max(first, last - room)
    before = min(LONGEST_CHARACTER - 1, start - first)
    data = stream.window(start - before, last - start + before).data
    cut = character_start(data, before)
    return Window(start - before + cut, data[cut:])
