"""``autolith ui`` as a person uses it: a runtime, two addresses, and Ctrl-C."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from temporalio.api.common.v1 import Payload

from cli.application import Application
from cli.commands.ui import origin_of, ui
from tests.embedded.home import REPOSITORY, Home
from tests.sealing.test_codec_endpoint import answered, body
from worker.sealing.keys import read_key_ring
from worker.sealing.seal import Seal

HELLO = Payload(metadata={"encoding": b"json/plain"}, data=b'"hello"')


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    """Roots of its own; whatever was started for them is stopped."""
    own = Home(tmp_path / "home")
    yield own
    await own.down()


async def test_it_prints_two_addresses_that_work_until_it_is_interrupted(home: Home) -> None:
    """The Web UI answers at the first, what is sealed with this root's key opens at the second."""
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "autolith", "ui"),
        cwd=REPOSITORY,
        env=home.environ,
        stdout=asyncio.subprocess.PIPE,
    )
    assert command.stdout is not None
    page = (await command.stdout.readline()).decode().split()[-1]
    endpoint = (await command.stdout.readline()).decode().split()[-1]
    sealed = Seal(read_key_ring(home.state)).close(HELLO, "w")

    assert page == (await home.found()).ui_address
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(page)).status_code == 200
        response = await browser.post(
            f"{endpoint}/decode", json=body(sealed), headers={"Origin": page}
        )
    assert answered(response) == [HELLO]

    command.send_signal(signal.SIGINT)
    assert await command.wait() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.post(f"{endpoint}/decode", json=body(sealed))


def test_another_cluster_needs_to_be_told_where_its_page_is() -> None:
    """Nothing is started and nothing is guessed."""
    result = CliRunner().invoke(ui, [], obj=Application(address="127.0.0.1:7233"))

    assert result.exit_code == 2
    assert "--web" in result.output


@pytest.mark.parametrize("page", ["temporal.example", "ftp://x", "", "http://"])
def test_a_page_that_is_none_is_refused(page: str) -> None:
    """An origin that no browser sends would refuse every browser."""
    with pytest.raises(Exception, match="not the address of a web page"):
        origin_of(page)


def test_an_origin_is_what_a_browser_sends() -> None:
    """Scheme, host and port, without a path."""
    assert origin_of("https://temporal.example:8443/namespaces/x") == (
        "https://temporal.example:8443"
    )
