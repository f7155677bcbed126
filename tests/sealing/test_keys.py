"""The key file: made once, private, and refused when it is not."""

import os
import stat
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload

from activities.errors import KeyFileError, UnsealedPayload
from worker.sealing.keys import KEY_FILE, KeyRing, open_key_ring, read_key_ring
from worker.sealing.seal import Seal

CONTENT = Payload(metadata={"encoding": b"json/plain"}, data=b'"hello"')


def test_the_first_caller_makes_a_private_key(tmp_path: Path) -> None:
    """The file is 0600, and whoever comes later gets the same key."""
    sealed = Seal(open_key_ring(tmp_path)).close(CONTENT, "w")

    status = (tmp_path / KEY_FILE).stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert Seal(open_key_ring(tmp_path)).open(sealed, "w") == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_an_existing_key_is_never_replaced(tmp_path: Path) -> None:
    """Opening twice leaves the file byte for byte as it was."""
    open_key_ring(tmp_path)
    before = (tmp_path / KEY_FILE).read_bytes()

    open_key_ring(tmp_path)

    assert (tmp_path / KEY_FILE).read_bytes() == before


def test_a_missing_key_says_what_to_do(tmp_path: Path) -> None:
    """Reading never makes a key: a client with the wrong root must notice."""
    with pytest.raises(KeyFileError, match="run 'autolith up'"):
        read_key_ring(tmp_path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    """The line says which command makes it right."""
    open_key_ring(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)

    with pytest.raises(KeyFileError, match="chmod 600"):
        open_key_ring(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_account_is_refused(tmp_path: Path) -> None:
    """Somebody else's key would let them read everything."""
    open_key_ring(tmp_path)
    os.chown(tmp_path / KEY_FILE, 65534, 65534)

    with pytest.raises(KeyFileError, match="another account"):
        open_key_ring(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"00" * 31, b"00" * 33, b"zz" * 32, b"00" * 32 + b"\nhello", b"\xff" * 64],
)
def test_a_damaged_key_is_refused(tmp_path: Path, content: bytes) -> None:
    """Nothing is sealed with half a key."""
    path = tmp_path / KEY_FILE
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(KeyFileError) as refusal:
        open_key_ring(tmp_path)

    assert "\n" not in str(refusal.value)


def test_a_huge_key_file_is_refused(tmp_path: Path) -> None:
    """A device or a log in the key's place is not read into memory."""
    path = tmp_path / KEY_FILE
    path.write_bytes(b"00" * 32 * 4096)
    path.chmod(0o600)

    with pytest.raises(KeyFileError, match="too large"):
        open_key_ring(tmp_path)


def test_a_link_in_the_place_of_the_key_is_not_followed(tmp_path: Path) -> None:
    """Neither to a file nor to nowhere."""
    (tmp_path / KEY_FILE).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(KeyFileError):
        open_key_ring(tmp_path)

    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_in_the_place_of_the_key_does_not_block(tmp_path: Path) -> None:
    """It is refused at once."""
    os.mkfifo(tmp_path / KEY_FILE, 0o600)

    with pytest.raises(KeyFileError, match="regular file"):
        open_key_ring(tmp_path)


def test_a_root_that_is_missing_is_one_line(tmp_path: Path) -> None:
    """No traceback, no half-made directory."""
    with pytest.raises(KeyFileError, match="cannot be created"):
        open_key_ring(tmp_path / "nowhere")


def test_a_rotated_key_opens_what_the_old_one_sealed(tmp_path: Path) -> None:
    """The appended line seals from now on, and the first one still opens."""
    old = Seal(open_key_ring(tmp_path))
    sealed = old.close(CONTENT, "w")
    with (tmp_path / KEY_FILE).open("a") as file:
        file.write("5a" * 32 + "\n")

    rotated = Seal(read_key_ring(tmp_path))

    assert rotated.open(sealed, "w") == CONTENT
    with pytest.raises(UnsealedPayload, match="not ours"):
        old.open(rotated.close(CONTENT, "w"), "w")


def test_a_ring_never_shows_its_keys() -> None:
    """Not even in a traceback that prints values."""
    assert "5a5a" not in repr(KeyRing.of(b"\x5a" * 32))
