"""The codec endpoint over real HTTP: the owner's browser reads, everybody else is told nothing."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client
from temporalio.converter import WorkflowSerializationContext

from activities.store.objects import ObjectDirectory
from tests.sealing.conftest import House
from tests.sealing.contracts import CANARY, Ask
from tests.sealing.stranger import Stranger
from tests.sealing.workflows import Vault
from worker.codec_endpoint import LARGEST_REQUEST, CodecEndpoint
from worker.payloads import KEPT_OUTSIDE, data_converter
from worker.sealing.keys import KeyRing, read_key_ring
from worker.sealing.seal import Seal

UI = "http://127.0.0.1:8233"
RING = KeyRing.of(b"k" * 32)
SEAL = Seal(RING)
HELLO = Payload(metadata={"encoding": b"json/plain"}, data=b'"hello"')
SEALED = SEAL.close(HELLO, "turn:c:1")


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where large payloads are kept."""
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="module")
def endpoint(objects: Path) -> Iterator[CodecEndpoint]:
    """An endpoint that serves."""
    yield from serving(CodecEndpoint(SEAL, ObjectDirectory(objects), ui_origin=UI))


def serving(endpoint: CodecEndpoint) -> Iterator[CodecEndpoint]:
    """Serve in a thread, as the command does in its only one."""
    thread = threading.Thread(target=endpoint.serve)
    thread.start()
    yield endpoint
    endpoint.stop()
    thread.join()
    endpoint.close()


def body(*payloads: Payload) -> dict[str, object]:
    """Return *payloads* as the protocol has them."""
    return dict(MessageToDict(Payloads(payloads=payloads)))


def answered(response: httpx.Response) -> list[Payload]:
    """Return the payloads of an answer."""
    assert response.status_code == 200
    return list(ParseDict(response.json(), Payloads()).payloads)


def test_the_web_ui_reads_what_is_sealed(endpoint: CodecEndpoint) -> None:
    """In order, whatever workflow each belongs to, with the headers a browser wants."""
    other = SEAL.close(Payload(data=b"other"), "job:c:1")

    response = httpx.post(
        f"{endpoint.address}/decode", json=body(SEALED, other), headers={"Origin": UI}
    )

    assert answered(response) == [HELLO, Payload(data=b"other")]
    assert response.headers["Access-Control-Allow-Origin"] == UI
    assert response.headers["Cache-Control"] == "no-store"


def test_a_browser_asks_first_and_may(endpoint: CodecEndpoint) -> None:
    """The preflight names the method and the headers that the Web UI sends."""
    response = httpx.options(
        f"{endpoint.address}/decode",
        headers={
            "Origin": UI,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,x-namespace",
        },
    )

    assert response.status_code == 204
    assert response.headers["Access-Control-Allow-Origin"] == UI
    assert response.headers["Access-Control-Allow-Methods"] == "POST"
    assert "x-namespace" in response.headers["Access-Control-Allow-Headers"].lower()


def test_a_program_without_a_browser_needs_the_address_only(endpoint: CodecEndpoint) -> None:
    """The ``temporal`` command sends no origin."""
    assert answered(httpx.post(f"{endpoint.address}/decode", json=body(SEALED))) == [HELLO]


async def test_a_kept_payload_is_fetched_and_opened(
    endpoint: CodecEndpoint, objects: Path
) -> None:
    """The reference in the history is enough."""
    converter = data_converter(RING, objects).with_context(
        WorkflowSerializationContext("default", "w")
    )
    large = RING.ciphers[RING.current].encrypt(bytes(12), bytes(KEPT_OUTSIDE * 2), None)
    (reference,) = await converter.encode([large])

    (opened,) = answered(httpx.post(f"{endpoint.address}/decode", json=body(reference)))

    assert opened.data == large


@pytest.mark.parametrize(
    "payload",
    [
        HELLO,
        Payload(metadata={**SEALED.metadata, "for": b"job:c:2"}, data=SEALED.data),
        Seal(KeyRing.of(b"z" * 32)).close(HELLO, "w"),
    ],
)
def test_what_is_not_ours_comes_back_as_it_is(endpoint: CodecEndpoint, payload: Payload) -> None:
    """The Web UI shows it as encoded, which is the truth."""
    assert answered(httpx.post(f"{endpoint.address}/decode", json=body(payload))) == [payload]


def test_it_seals_for_a_named_workflow(endpoint: CodecEndpoint) -> None:
    """So that the owner can speak to one workflow with the ``temporal`` command."""
    response = httpx.post(
        f"{endpoint.address}/encode", json=body(HELLO), headers={"X-Autolith-Workflow": "w-1"}
    )

    assert SEAL.open(answered(response)[0], "w-1") == HELLO


def test_it_seals_for_no_unnamed_workflow(endpoint: CodecEndpoint) -> None:
    """Such a payload would be refused everywhere."""
    refuse(httpx.post(f"{endpoint.address}/encode", json=body(HELLO)), 403)


@pytest.mark.parametrize(
    "path", ["/decode", "/", "", "//decode", "/{secret}", "/{secret}/", "/{wrong}/decode"]
)
@pytest.mark.parametrize("origin", [UI, None])
def test_without_the_secret_there_is_nothing(
    endpoint: CodecEndpoint, path: str, origin: str | None
) -> None:
    """No detail, not even whether a part of it was right."""
    parts = urlsplit(endpoint.address)
    secret = parts.path.strip("/")
    asked = path.format(secret=secret, wrong=secret[:-1] + "x" * (secret[-1] != "x") or "y")

    response = httpx.post(
        f"http://{parts.netloc}{asked}",
        json=body(SEALED),
        headers={"Origin": origin} if origin else {},
    )

    refuse(response, 404)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:8233", ""])
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_another_page_is_refused(endpoint: CodecEndpoint, method: str, origin: str) -> None:
    """Even if it learned the address; and it may not read the refusal either."""
    response = httpx.request(
        method, f"{endpoint.address}/decode", json=body(SEALED), headers={"Origin": origin}
    )

    refuse(response, 403)
    assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_are_refused(endpoint: CodecEndpoint, method: str) -> None:
    """With the address or without."""
    refuse(httpx.request(method, f"{endpoint.address}/decode"), 404)


@pytest.mark.parametrize("content", [b"", b"{", b'{"payloads": 1}', b'{"payloads": [1]}', b"\xff"])
def test_a_body_that_is_none_is_refused(endpoint: CodecEndpoint, content: bytes) -> None:
    """Without an explanation, and the next request is answered."""
    refuse(httpx.post(f"{endpoint.address}/decode", content=content), 400)

    assert answered(httpx.post(f"{endpoint.address}/decode", json=body(SEALED))) == [HELLO]


@pytest.mark.parametrize("length", [str(LARGEST_REQUEST + 1), "-1", "many", "1_0", "٣"])
def test_a_length_that_is_none_is_refused_unread(endpoint: CodecEndpoint, length: str) -> None:
    """Nothing is read into memory on somebody's word."""
    parts = urlsplit(endpoint.address)
    with socket.create_connection(("127.0.0.1", parts.port or 0)) as connection:
        head = f"POST {parts.path}/decode HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())

        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "noise", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"]
)
def test_noise_is_answered_with_a_bare_status(endpoint: CodecEndpoint, noise: bytes) -> None:
    """No version, no explanation, and the endpoint goes on."""
    parts = urlsplit(endpoint.address)
    with socket.create_connection(("127.0.0.1", parts.port or 0)) as connection:
        connection.sendall(noise)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()

    assert b"Python" not in answer
    assert b"<" not in answer
    assert answered(httpx.post(f"{endpoint.address}/decode", json=body(SEALED))) == [HELLO]


def test_each_endpoint_has_a_secret_of_its_own(tmp_path: Path) -> None:
    """An address that leaked is worthless when the command ends."""
    objects = ObjectDirectory(tmp_path)
    first, second = (CodecEndpoint(SEAL, objects, ui_origin=UI) for _ in range(2))

    assert urlsplit(first.address).path != urlsplit(second.address).path
    assert len(urlsplit(first.address).path) > 40
    first.close()
    second.close()


async def test_the_owner_reads_summaries_in_a_history(house: House) -> None:
    """Of activities, timers and children, none of which the server can read."""
    vault = await house.vault()
    await vault.execute_update(Vault.ask, Ask(command="ask", text="x"))
    await vault.execute_update(Vault.teach, Ask(command="ask", text="x"))
    history = await Stranger(house.stranger, house.queue).history(vault.id)
    sealed = [
        event.user_metadata.summary
        for event in history
        if event.HasField("user_metadata") and event.user_metadata.HasField("summary")
    ]
    seal = Seal(read_key_ring(house.key_file.parent))
    endpoint = CodecEndpoint(seal, ObjectDirectory(house.objects), ui_origin=UI)

    for serving_endpoint in serving(endpoint):
        response = httpx.post(f"{serving_endpoint.address}/decode", json=body(*sealed))

    assert [json.loads(payload.data) for payload in answered(response)] == [
        f"{CANARY} start summary",
        f"{CANARY} activity summary",
        f"{CANARY} child summary",
        f"{CANARY} timer summary",
    ]


async def test_a_client_with_the_key_of_another_root_reads_nothing(
    house: House, tmp_path: Path
) -> None:
    """Two state roots never meet, even on one server."""
    address = house.owner.service_client.config.target_host
    other = await Client.connect(address, data_converter=data_converter(RING, tmp_path))
    vault = await house.vault()

    description = await other.get_workflow_handle(vault.id).describe()

    with pytest.raises(Exception, match="not ours"):
        await description.memo()


def refuse(response: httpx.Response, status: int) -> None:
    """Check that *response* says nothing but *status*."""
    assert response.status_code == status
    assert response.content == b""
    assert "Python" not in str(response.headers)
