"""Another account of this machine reaches the port, and can do nothing with it."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from tests.sealing.conftest import House
from tests.sealing.contracts import CANARY, Ask, Look, Word
from tests.sealing.other_account import NOBODY
from tests.sealing.workflows import Vault

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")
async def test_another_account_neither_reads_nor_speaks(house: House) -> None:
    """It reads no text and no file, starts nothing, and what it sends is not heard."""
    vault = await house.vault()
    await vault.execute_update(Vault.ask, Ask(command="ask", text=f"{CANARY} asked"))
    private, public = [house.key_file, house.objects], "/etc/passwd"
    address = house.owner.service_client.config.target_host

    intruder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.sealing.other_account", address, house.queue, vault.id),
        *(public, *map(str, private)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await intruder.communicate()

    assert intruder.returncode == 0
    account = json.loads(output)
    assert account["uid"] == NOBODY
    assert account["opened"] == [public]
    assert account["messages"] > 10
    assert account["readable"] == 0
    assert account["updates"] == [False, False, False]
    for how in ("plain", "copied"):
        started = house.owner.get_workflow_handle(f"{vault.id}:intruder-{how}")
        with pytest.raises(WorkflowFailureError):
            await started.result()
        assert (await started.describe()).status is WorkflowExecutionStatus.FAILED
    assert await vault.query(Vault.look, Look(command="look")) == Word(text="")
    answer = await vault.execute_update(Vault.ask, Ask(command="ask", text="still here"))
    assert answer == Word(text="still here")
