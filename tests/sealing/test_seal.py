"""The sealed form of one payload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload

from activities.errors import UnsealedPayload
from worker.sealing.keys import KeyRing
from worker.sealing.seal import COMPRESS_ABOVE, Seal

SEAL = Seal(KeyRing.of(b"k" * 32))
HELLO = Payload(metadata={"encoding": b"json/plain"}, data=b'"hello"')


@given(
    data=st.binary(max_size=4096),
    encoding=st.binary(max_size=40),
    workflow=st.text(max_size=200),
)
def test_what_was_sealed_opens_to_the_same(data: bytes, encoding: bytes, workflow: str) -> None:
    """Any bytes, any metadata, any workflow id."""
    payload = Payload(metadata={"encoding": encoding, "other": b"x"}, data=data)

    assert SEAL.open(SEAL.close(payload, workflow), workflow) == payload


def test_a_sealed_payload_shows_nothing_but_key_and_workflow() -> None:
    """Neither the content nor its encoding is readable."""
    sealed = SEAL.close(HELLO, "w-1")

    assert set(sealed.metadata) == {"encoding", "key", "for"}
    assert sealed.metadata["for"] == b"w-1"
    assert b"hello" not in sealed.SerializeToString()
    assert b"json" not in sealed.SerializeToString()


def test_sealing_twice_never_looks_alike() -> None:
    """Equal values cannot be recognised from outside."""
    assert SEAL.close(HELLO, "w").data != SEAL.close(HELLO, "w").data


def test_large_content_is_compressed_first() -> None:
    """What repeats itself takes a fraction of its size in a history."""
    large = Payload(metadata={"encoding": b"json/plain"}, data=b"again " * 10_000)

    assert len(SEAL.close(large, "w").data) < len(large.data) / 50


def test_small_content_is_not_compressed() -> None:
    """It grows by nonce, tag, mark and nothing else."""
    small = Payload(data=b"x" * (COMPRESS_ABOVE - 10))

    assert len(SEAL.close(small, "w").data) == small.ByteSize() + 12 + 16 + 1


@pytest.mark.parametrize("workflow", ["w-2", "", "w-1 "])
def test_it_does_not_open_for_another_workflow(workflow: str) -> None:
    """Not even with the clear text changed to match."""
    sealed = SEAL.close(HELLO, "w-1")
    with pytest.raises(UnsealedPayload, match="another workflow"):
        SEAL.open(sealed, workflow)

    sealed.metadata["for"] = workflow.encode()

    with pytest.raises(UnsealedPayload, match="changed"):
        SEAL.open(sealed, workflow)


def test_without_a_workflow_the_clear_binding_still_has_to_be_true() -> None:
    """That is how the owner's codec endpoint opens it."""
    sealed = SEAL.close(HELLO, "w-1")
    assert SEAL.open(sealed, None) == HELLO

    sealed.metadata["for"] = b"w-2"

    with pytest.raises(UnsealedPayload, match="changed"):
        SEAL.open(sealed, None)


@pytest.mark.parametrize("length", [0, 1, 11, 12, 27, 28])
def test_a_stump_does_not_open(length: int) -> None:
    """Too short for nonce or tag is refused like any other damage."""
    sealed = SEAL.close(HELLO, "w")
    sealed.data = sealed.data[:length]

    with pytest.raises(UnsealedPayload, match="changed"):
        SEAL.open(sealed, "w")


@given(position=st.integers(min_value=0, max_value=43), flip=st.integers(1, 255))
def test_no_byte_can_be_changed(position: int, flip: int) -> None:
    """Nonce, content and tag are all authenticated."""
    sealed = SEAL.close(HELLO, "w")
    changed = bytearray(sealed.data)
    changed[position] ^= flip
    sealed.data = bytes(changed)

    with pytest.raises(UnsealedPayload, match="changed"):
        SEAL.open(sealed, "w")


@pytest.mark.parametrize(
    "payload",
    [
        HELLO,
        Payload(),
        Payload(metadata={"encoding": b"autolith/sealed"}, data=b"x" * 60),
        Payload(metadata={"encoding": b"autolith/refused"}, data=b"it is not sealed"),
    ],
)
def test_what_is_not_sealed_does_not_open(payload: Payload) -> None:
    """Plain, empty, half and stand-in payloads alike."""
    with pytest.raises(UnsealedPayload, match="not sealed"):
        SEAL.open(payload, "w")


def test_a_payload_with_more_metadata_than_ours_does_not_open() -> None:
    """What is not authenticated is not accepted either."""
    sealed = SEAL.close(HELLO, "w")
    sealed.metadata["extra"] = b"1"

    with pytest.raises(UnsealedPayload, match="not sealed"):
        SEAL.open(sealed, "w")


def test_another_ring_does_not_open_it() -> None:
    """An unknown key is told apart from damage."""
    with pytest.raises(UnsealedPayload, match="not ours"):
        Seal(KeyRing.of(b"z" * 32)).open(SEAL.close(HELLO, "w"), "w")
