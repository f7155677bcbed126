"""One payload, sealed and opened: the format, and nothing about Temporal's machinery.

A sealed payload carries its key's id and its workflow's id in clear, so that the
owner's codec endpoint can open it, and both are authenticated: a payload sealed
for one workflow does not open as another's.
"""

import os
from enum import StrEnum
from typing import Final

import zstandard
from cryptography.exceptions import InvalidTag
from temporalio.api.common.v1 import Payload

from activities.errors import UnsealedPayload
from worker.sealing.keys import KeyRing

SEALED: Final = b"autolith/sealed"
"""The encoding of a sealed payload; a later format gets another name."""
REFUSED: Final = b"autolith/refused"
"""The encoding of what stands in for a payload that must not be used."""
ENCODING: Final = "encoding"
KEY: Final = "key"
WORKFLOW: Final = "for"
METADATA: Final = frozenset({ENCODING, KEY, WORKFLOW})
NONCE_BYTES: Final = 12
"""Random 96-bit nonces are safe for about 2**32 payloads of one key; then rotate it."""
COMPRESS_ABOVE: Final = 512
COMPRESSION_LEVEL: Final = 3
_PLAIN, _ZSTD = b"\x00", b"\x01"


class Refusal(StrEnum):
    """Why a payload is not used."""

    UNSEALED = "it is not sealed"
    UNKNOWN_KEY = "it is sealed with a key that is not ours"
    MISPLACED = "it was sealed for another workflow"
    DAMAGED = "it was changed after it was sealed"
    MISSING = "its content is not in the object directory"
    ABSENT = "exactly one sealed value was expected"


_REASONS: Final = frozenset(reason.encode() for reason in Refusal)


def refused(reason: Refusal) -> Payload:
    """Return the payload that stands in for one which is refused for *reason*."""
    return Payload(metadata={ENCODING: REFUSED}, data=reason.encode())


def is_refused(payload: Payload) -> bool:
    """Tell whether *payload* stands in for one that was refused."""
    return payload.metadata.get(ENCODING) == REFUSED and payload.data in _REASONS


def refusal_of(payload: Payload) -> UnsealedPayload:
    """Return the error that a refused *payload* raises when it is used."""
    return UnsealedPayload(f"A payload was refused: {payload.data.decode()}")


class Seal:
    """Seals and opens with the keys of one ring."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def close(self, payload: Payload, workflow: str) -> Payload:
        """Return *payload* sealed for *workflow*."""
        key, cipher = self._ring.current, self._ring.ciphers[self._ring.current]
        nonce = os.urandom(NONCE_BYTES)
        sealed = cipher.encrypt(nonce, _pack(payload), _binding(key, workflow.encode()))
        return Payload(
            metadata={ENCODING: SEALED, KEY: key, WORKFLOW: workflow.encode()},
            data=nonce + sealed,
        )

    def open(self, payload: Payload, workflow: str | None) -> Payload:
        """Return what *payload* holds, for *workflow* or, without one, for any.

        Raises:
            UnsealedPayload: it is not sealed, not by us, or not for *workflow*.
        """
        reason = self._reason_against(payload, workflow)
        if reason is not None:
            raise UnsealedPayload(reason.value)
        key = payload.metadata[KEY]
        binding = _binding(key, payload.metadata[WORKFLOW])
        nonce, sealed = payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:]
        try:
            return _unpack(self._ring.ciphers[key].decrypt(nonce, sealed, binding))
        except (InvalidTag, ValueError) as error:
            # ValueError: a nonce or a ciphertext too short to be one.
            raise UnsealedPayload(Refusal.DAMAGED.value) from error

    def _reason_against(self, payload: Payload, workflow: str | None) -> Refusal | None:
        """Judge *payload* by what it says in clear."""
        if payload.metadata.get(ENCODING) != SEALED or set(payload.metadata) != METADATA:
            return Refusal.UNSEALED
        if payload.metadata[KEY] not in self._ring.ciphers:
            return Refusal.UNKNOWN_KEY
        if workflow is not None and payload.metadata[WORKFLOW] != workflow.encode():
            return Refusal.MISPLACED
        return None


def _binding(key: bytes, workflow: bytes) -> bytes:
    """Return what is authenticated with the content; a key id holds no newline."""
    return b"\n".join((SEALED, key, workflow))


def _pack(payload: Payload) -> bytes:
    content = payload.SerializeToString(deterministic=True)
    if len(content) > COMPRESS_ABOVE:
        compressed = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL).compress(content)
        if len(compressed) < len(content):
            return _ZSTD + compressed
    return _PLAIN + content


def _unpack(packed: bytes) -> Payload:
    # Whatever is here was sealed with our key, so its size may be trusted.
    mark, content = packed[:1], packed[1:]
    if mark == _ZSTD:
        content = zstandard.ZstdDecompressor().decompress(content)
    return Payload.FromString(content)
