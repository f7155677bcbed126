"""What a stranger can send: made up, or copied from histories that anybody can fetch."""

import json

from temporalio.api.common.v1 import Payload

from tests.sealing.conftest import House
from tests.sealing.contracts import Look, Tell
from tests.sealing.stranger import Stranger, payloads_of
from tests.sealing.workflows import Vault
from worker.payloads import DRIVER

STARTED = "workflow_execution_started_event_attributes"
SIGNALED = "workflow_execution_signaled_event_attributes"


def plain(value: object) -> Payload:
    """Return what a client without our converter sends."""
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())


def reference(driver: str, claim: dict[str, str]) -> Payload:
    """Return a reference to something kept outside, as the SDK writes it."""
    content = {"driverName": driver, "claimData": claim}
    return Payload(
        metadata={
            "encoding": b"json/protobuf",
            "messageType": b"temporal.api.sdk.v1.ExternalStorageReference",
        },
        data=json.dumps(content).encode(),
    )


COMMAND = {"command": "tell", "text": "intruder"}
ASKED = {"command": "ask", "text": "intruder"}
FORGED = {
    "nothing": [],
    "plain": [plain(COMMAND)],
    "plain request": [plain(ASKED)],
    "empty": [Payload()],
    "null": [Payload(metadata={"encoding": b"binary/null"})],
    "two values": [plain(COMMAND), plain(COMMAND)],
    "a sealed one that is not": [
        Payload(
            metadata={"encoding": b"autolith/sealed", "key": b"00000000", "for": b"x"},
            data=b"x" * 60,
        )
    ],
    "a stand-in": [Payload(metadata={"encoding": b"autolith/refused"}, data=b"it is not sealed")],
    "a stand-in that lies": [Payload(metadata={"encoding": b"autolith/refused"}, data=b"\xff")],
    "a reference to nothing": [reference(DRIVER, {"object": "0" * 64})],
    "a reference to a file": [reference(DRIVER, {"object": "../../../../etc/passwd"})],
    "a reference without a claim": [reference(DRIVER, {})],
    "another driver's reference": [reference("s3", {"key": "x"})],
    "a reference that is none": [
        Payload(
            metadata={
                "encoding": b"json/protobuf",
                "messageType": b"temporal.api.sdk.v1.ExternalStorageReference",
            },
            data=b"\xff{",
        )
    ],
    "an old reference": [
        Payload(metadata={"encoding": b"json/external-storage-reference"}, data=b"{}")
    ],
    "a marked reference": [
        Payload(
            metadata={
                "encoding": b"json/plain",
                "__temporal_external_storage_reference": b"true",
            },
            data=b"{}",
        )
    ],
}
COMPLETING = [what for what in FORGED if what != "two values"]
"""The SDK's core stops at a result of two values before we see it: no better and no
worse than terminating the workflow, which anybody who reaches the port may do."""
REPLAYED = (
    "another vault's signal",
    "another vault's start",
    "this vault's start",
    "this vault's start, twice",
)
EVERYTHING = [*FORGED, *REPLAYED]


async def payloads(house: House, stranger: Stranger, vault: str, what: str) -> list[Payload]:
    """Return forged payloads, or copy real ones from histories that anybody can fetch."""
    if what in FORGED:
        return FORGED[what]
    own = payloads_of(await stranger.history(vault), STARTED, "input")
    if what == "this vault's start":
        return own
    if what == "this vault's start, twice":
        return own * 2
    other = await house.vault()
    await other.signal(Vault.tell, Tell(command="tell", text="for the other one"))
    await other.query(Vault.look, Look(command="look"))  # by now the signal is in the history
    history = await stranger.history(other.id)
    if what == "another vault's signal":
        return payloads_of(history, SIGNALED, "input")
    return payloads_of(history, STARTED, "input")
