"""The arithmetic of a capture file, against a plain model of it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.shell import layout
from activities.shell.capture_reader import CaptureReader
from activities.shell.capture_writer import CaptureWriter
from activities.shell.decoding import character_start, decode, unfinished
from activities.shell.log_reading import read, search
from activities.shell.outcome import StreamFigures

LIMITS = st.integers(layout.SMALLEST_LIMIT, 200)
PIECES = st.lists(st.binary(min_size=1, max_size=60), max_size=12)


def capture(directory: str, limit: int, pieces: list[bytes]) -> CaptureReader:
    """Send *pieces* through a real pipe into a real file."""
    source, sink = os.pipe()
    writer = CaptureWriter(directory, "output", limit, source)
    for piece in pieces:
        os.write(sink, piece)
        writer.pump()
    os.close(sink)
    writer.pump()
    assert not writer.is_open
    return CaptureReader(
        Path(directory) / "output", limit, StreamFigures(writer.observed, writer.written)
    )


@given(LIMITS, PIECES)
def test_the_beginning_and_the_newest_bytes_are_kept(limit: int, pieces: list[bytes]) -> None:
    """Whatever the sizes: what is said to be retained is exactly what was written."""
    stream = b"".join(pieces)
    with TemporaryDirectory() as directory:
        reader = capture(directory, limit, pieces)
        ranges = reader.retained()

        assert reader.path.stat().st_size == min(len(stream), limit)
        assert reader.retained_bytes == min(len(stream), limit)
        for start, end in ranges:
            assert reader.window(start, end - start).data == stream[start:end]
        if stream:
            assert ranges[0][0] == 0
            assert ranges[-1][1] == len(stream)


@given(LIMITS, PIECES, st.integers(0, 800), st.integers(1, 50))
def test_a_read_tells_what_is_missing(
    limit: int, pieces: list[bytes], offset: int, count: int
) -> None:
    """An offset is in a kept range, in a gap that says where it ends, or behind the end."""
    stream = b"".join(pieces)
    with TemporaryDirectory() as directory:
        reader = capture(directory, limit, pieces)
        window = reader.window(offset, count)

        if window.lost_until is not None:
            assert window.data == b""
            assert reader.window(window.lost_until, 1).data
        elif offset >= len(stream):
            assert window.data == b""
        else:
            assert 0 < len(window.data) <= count
            assert window.data == stream[offset : window.end]


@given(st.integers(4, 10**6), st.integers(0, 3 * 10**6), st.integers(0, 10**5))
def test_torn_bytes_are_only_ever_taken_away(limit: int, written: int, torn: int) -> None:
    """Distrust shrinks what is retained, and never the beginning."""
    trusted = layout.retained(limit, written, torn=torn)
    everything = layout.retained(limit, written)

    for start, end in trusted:
        assert any(first <= start < end <= last for first, last in everything)
    assert not written or trusted[0][0] == 0


@pytest.mark.parametrize("total", [3, 12, 13, 15, 16, 17, 40])
def test_a_piece_that_was_written_and_not_counted_is_not_trusted(
    tmp_path: Path, total: int
) -> None:
    """A runner killed between the two leaves no byte under a wrong offset."""
    source, sink = os.pipe()
    limit = 16 * layout.CHUNK
    writer = CaptureWriter(str(tmp_path), "output", limit, source)
    pieces = [bytes([number]) * layout.CHUNK for number in range(total)]
    for piece in pieces:
        counted = (tmp_path / "output.count").read_bytes()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(os.write, sink, piece)
            while writer.observed < (piece[0] + 1) * layout.CHUNK:
                writer.pump()
    os.close(sink)
    (tmp_path / "output.count").write_bytes(counted)

    reader = CaptureReader(tmp_path / "output", limit)
    stream = b"".join(pieces)
    assert reader.retained()
    for start, end in reader.retained():
        assert reader.window(start, end - start).data == stream[start:end]


@given(st.text(max_size=80), st.integers(1, 20))
def test_following_windows_shows_every_character_once(text: str, count: int) -> None:
    """A reader that goes on where the last window ended sees the text undamaged."""
    data = text.encode()
    with TemporaryDirectory() as directory:
        reader = capture(directory, 4096, [data] if data else [])
        seen, offset = "", 0
        while offset < len(data):
            window = read(reader, offset, count)
            assert window.start == offset
            assert window.data
            seen += decode(window.data)
            offset = window.end

        assert seen == text.replace("\0", "�")


@given(st.text(min_size=1, max_size=40), st.data())
def test_a_window_from_the_middle_of_a_character_shows_all_of_it(
    text: str, draw: st.DataObject
) -> None:
    """An arbitrary offset never produces a replacement character."""
    data = text.replace("�", "?").replace("\0", "?").encode()
    offset = draw.draw(st.integers(0, len(data) - 1))
    count = draw.draw(st.integers(1, len(data)))
    with TemporaryDirectory() as directory:
        window = read(capture(directory, 4096, [data]), offset, count)

        assert window.start <= offset < window.end
        assert "�" not in decode(window.data)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_decode_at_any_cut(data: bytes, index: int) -> None:
    """Boundaries in garbage are found without an error, and stay close."""
    assert index - 3 <= character_start(data, index) <= index
    assert 0 <= unfinished(data) <= 3
    assert "\0" not in decode(data)


@given(st.lists(st.sampled_from([b"ab", b"a", b"b", b"\n", b"xyz"]), max_size=60))
def test_a_search_finds_what_find_finds(pieces: list[bytes]) -> None:
    """Following the next offset reports each occurrence once, in order."""
    data = b"".join(pieces)
    expected, at = [], data.find(b"ab")
    while at >= 0:
        expected.append(at)
        at = data.find(b"ab", at + 2)
    with TemporaryDirectory() as directory:
        reader = capture(directory, 4096, [data] if data else [])
        found: list[int] = []
        following: int | None = 0
        while following is not None:
            result = search(reader, b"ab", following, 3)
            assert len(result.matches) <= 3
            found += [match.offset for match in result.matches]
            following = result.next_offset

    assert found == expected
