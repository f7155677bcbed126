"""Make room for a new capture by letting old ones go."""

import shutil
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, update

from activities.shell.executions import Executions, Phase
from activities.store.schema import CAPTURES
from workflows.policy.captures import CaptureLimits, HeldCapture, allocate

PRUNED = "pruned"
ENDED = (Phase.FINISHED, Phase.INTERRUPTED)


def make_room(tx: Connection, root: Path, *, streams: int, limits: CaptureLimits) -> int:
    """Prune what has to go and return how large each of *streams* may grow; 0 is no room.

    The files go first, within the transaction that marks them: whatever dies in
    between, nothing is left behind that no row knows of.
    """
    now = time.time()
    allocation = allocate(_held(tx, root), streams=streams, now=now, limits=limits)
    for execution in allocation.pruned:
        shutil.rmtree(root / execution)
        row = update(CAPTURES).where(CAPTURES.c.execution == execution)
        tx.execute(row.values(state=PRUNED, reserved=0))
    return allocation.stream_bytes


def _held(tx: Connection, root: Path) -> list[HeldCapture]:
    """Return the captures that take up room on this machine; a store may serve several."""
    columns = CAPTURES.c
    query = select(columns.execution, columns.ended, columns.reserved, columns.delivered)
    rows = tx.execute(query.where(columns.state != PRUNED)).mappings()
    here = (dict(row) for row in rows if (root / row["execution"]).is_dir())
    return [HeldCapture.model_validate(_measured(row, root)) for row in here]


def _measured(row: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return *row* with what it really takes up when nobody will write to it any more.

    A turn that was terminated never records the end of its command.
    """
    execution = row["execution"]
    if row["ended"] is None and Executions(root).look(execution).phase in ENDED:
        return {**row, "reserved": size_of(root / execution)}
    return row


def size_of(directory: Path) -> int:
    """Return how many bytes the captures in *directory* take up."""
    return sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
