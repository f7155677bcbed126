"""Small JSON records in an execution's directory: whole or absent, never half.

Read and written by the runner too: the standard library only, and few of its modules.
"""

import json
import os

SPEC = "spec.json"
CLAIM = "claim.json"
OUTCOME = "outcome.json"


def publish(directory: str, name: str, value: dict[str, object], *, durable: bool) -> bool:
    """Write *name* unless it exists; return whether this call has written it.

    Of any number of processes exactly one succeeds.  What is *durable* survives a power
    failure from the moment of the return on.
    """
    temporary = _write(directory, name, value, durable=durable)
    try:
        os.link(temporary, f"{directory}/{name}")
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)  # noqa: PTH108 -- pathlib would double the runner's start-up time
    if durable:
        _sync_directory(directory)
        _sync_directory(f"{directory}/..")
    return True


def replace(directory: str, name: str, value: dict[str, object]) -> None:
    """Write *name*, over what may be there, in one step."""
    temporary = _write(directory, name, value, durable=False)
    os.replace(temporary, f"{directory}/{name}")  # noqa: PTH105 -- pathlib would double the runner's start-up time


def read(directory: str, name: str) -> dict[str, object] | None:
    """Return the record *name*, or None when there is none.

    Raises:
        ValueError: a machine failure left an incomplete one.
    """
    try:
        with open(f"{directory}/{name}", "rb") as file:  # noqa: PTH123 -- as above
            record = json.loads(file.read())
    except FileNotFoundError:
        return None
    if not isinstance(record, dict):
        raise ValueError(f"{name} is not a record")  # noqa: TRY004 -- a damaged value
    return record


def _write(directory: str, name: str, value: dict[str, object], *, durable: bool) -> str:
    temporary = f"{directory}/.{name}.{os.urandom(8).hex()}"
    descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(value).encode())
        if durable:
            file.flush()
            os.fsync(descriptor)
    return temporary


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
