"""Both databases: SQLite in a file, and a PostgreSQL server of our own."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.store.conversations import ConversationRecord, create
from activities.store.database import Database

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"))
CONVERSATION = "Conv1234"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as the session."""
    root = Path(tempfile.mkdtemp(prefix="autolith-pg-"))
    shutil.chown(root, "postgres", "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = root / "data"

    def run(*words: str | Path) -> None:
        """Run quietly as the server's account, which must not be root."""
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)

    run(BINARIES / "initdb", "-D", data, "-A", "trust")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={root} -F"
    control: list[str | Path] = [BINARIES / "pg_ctl", "-D", data, "-w"]
    run(*control, "-o", options, "-l", root / "log", "start")
    try:
        yield f"postgresql+psycopg://postgres@127.0.0.1:{port}"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(root)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store on each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server = request.getfixturevalue("postgresql")
    name = f"s{abs(hash(str(tmp_path)))}"
    subprocess.run(
        [
            BINARIES / "createdb",
            "-h",
            "127.0.0.1",
            "-p",
            server.rpartition(":")[2],
            "-U",
            "postgres",
            name,
        ],
        check=True,
    )
    return f"{server}/{name}"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """A store with one conversation."""
    store = Database.open(url)
    record = ConversationRecord(
        id=CONVERSATION, created=1.0, active=1.0, workspace="/work/project", host="h"
    )
    store.write_now(lambda tx: create(tx, record))
    yield store
    store.close()
