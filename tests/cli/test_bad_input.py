"""Bad input is one clear line on standard error, and a status (issue: Bad input)."""

import socket
import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import Account, one_line

CLOSED = "127.0.0.1:9"
USAGE = 64
FAILURE = 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["--frobnicate"], "No such option '--frobnicate'"),
        (["run", "--frobnicate"], "No such option '--frobnicate'"),
        (["run", "a", "b"], "unexpected extra argument (b)"),
        (["run", "--model"], "Option '--model' requires an argument"),
        (["run", "x", "--permissions", "everything"], "'everything' is not one of"),
        (["run", "x", "--file", "y"], "PROMPT or --file, not both"),
        (["run", "x", "--conversation", "c", "--workspace", "."], "--workspace is for new"),
        (["--model", "x", "ls"], "--model goes after the command"),
        (["ls", "--limit", "0"], "0 is not in the range x>=1"),
        (["show"], "Missing argument 'ID'"),
        (["tell", "abc"], "Give either TEXT or --message"),
        (["tell", "abc", "text", "--message", "m"], "Give either TEXT or --message"),
        (["decide", "abc", "1.1.0", "perhaps"], "one of full, sandbox, deny"),
        (["configure", "abc"], "Give --model, --effort or --permissions"),
        (["export", "abc", "--format", "pdf"], "'pdf' is not one of"),
        (["auth", "nobody"], "'nobody' is not 'openai'"),
        (["up", "--port", "99999999"], "is not in the range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_status_64(account: Account, arguments: list[str], words: str) -> None:
    """With the place to read more."""
    line = one_line(account.run(*arguments), status=USAGE)
    assert words in line
    assert line.startswith("autolith: ")
    assert "--help')" in line


@pytest.mark.parametrize("command", ["show", "export", "tell", "cancel", "decide"])
def test_an_unknown_conversation_is_named(account: Account, command: str) -> None:
    """By every command that takes one, before anything is started for it."""
    more = {"tell": ["hello"], "decide": ["deny"]}.get(command, [])
    line = one_line(account.run(command, "NoSuchOne", *more), status=FAILURE)
    assert line == "autolith: There is no conversation 'NoSuchOne'"
    assert not (account.directory / ".local/state/autolith/runtime.sexp").exists()


def test_an_unknown_conversation_of_run_is_named(account: Account) -> None:
    """The prompt is not kept for a conversation that is not there."""
    line = one_line(account.run("run", "x", "--conversation", "NoSuchOne"), status=FAILURE)
    assert line == "autolith: There is no conversation 'NoSuchOne'"


def test_a_missing_prompt_file_is_named(account: Account) -> None:
    """With the system's reason."""
    line = one_line(account.run("run", "--file", "absent.txt"), status=FAILURE)
    assert line == "autolith: absent.txt: No such file or directory"


def test_an_unreadable_prompt_file_is_named(account: Account) -> None:
    """A folder cannot be read as text, whoever asks."""
    (account.workspace / "folder").mkdir()
    line = one_line(account.run("run", "--file", "folder"), status=FAILURE)
    assert line == "autolith: folder: Is a directory"


def test_a_prompt_that_is_no_text_is_refused(account: Account) -> None:
    """Bytes that are not UTF-8 are not guessed at."""
    (account.workspace / "binary").write_bytes(b"\xff\xfe\x00")
    line = one_line(account.run("run", "--file", "binary"), status=FAILURE)
    assert line == "autolith: binary: is not UTF-8 text (invalid start byte)"


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt_is_refused(account: Account, prompt: str) -> None:
    """From standard input too."""
    line = one_line(account.run("run", stdin=prompt), status=FAILURE)
    assert line == "autolith: The message is empty"


def test_a_prompt_beyond_the_limit_is_refused(account: Account) -> None:
    """131,072 characters are the limit."""
    line = one_line(account.run("run", stdin="x" * 131_073), status=FAILURE)
    assert "131,073 characters; at most 131,072" in line


@pytest.mark.parametrize("workspace", ["absent", "file"])
def test_a_workspace_has_to_be_a_directory(account: Account, workspace: str) -> None:
    """Neither absent nor a file."""
    (account.workspace / "file").write_text("")
    line = one_line(account.run("run", "x", "--workspace", workspace), status=FAILURE)
    assert "No such file or directory" in line or "is not a directory" in line


def test_a_refused_port_keeps_the_message_and_says_how_to_send_it(account: Account) -> None:
    """Nothing is lost: the text is in the store under its id."""
    ended = account.run("--address", CLOSED, "run", "remember this")
    line = one_line(ended, status=FAILURE)
    assert f"No Temporal server answers at {CLOSED}; the message is kept as " in line
    command = line.rpartition("send it with '")[2].rstrip("'").split()
    assert command[:2] == ["autolith", "tell"]
    again = account.run("--address", CLOSED, *command[1:])
    assert "is kept as" in one_line(again, status=FAILURE)
    assert "remember this" in account.run("ls", "--json").stdout


def test_a_server_that_is_no_temporal_server_is_one_line(account: Account) -> None:
    """Something listens, and does not speak the protocol."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"127.0.0.1:{stranger.getsockname()[1]}"
        stranger.settimeout(0.1)
        started = account.start("--address", address, "run", "x")
        try:
            while started.poll() is None:
                try:
                    stranger.accept()[0].close()
                except TimeoutError:
                    continue
            _, errors = started.communicate(timeout=10)
        finally:
            started.kill()
    assert len(errors.splitlines()) == 1
    assert f"No Temporal server answers at {address}" in errors
    assert started.returncode == FAILURE


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:port", "::::", "host:0"])
def test_an_address_that_is_none_is_one_line(account: Account, address: str) -> None:
    """As an option and as a variable."""
    for line in (
        one_line(account.run("--address", address, "run", "x"), status=USAGE),
        one_line(
            account.run("run", "x", environ={"AUTOLITH_TEMPORAL_ADDRESS": address}), status=USAGE
        ),
    ):
        assert f"{address!r} is no HOST:PORT" in line


@pytest.mark.parametrize("arguments", [["models"], ["--help"], ["ls", "--help"]])
def test_a_full_disk_is_a_failure(account: Account, arguments: list[str]) -> None:
    """Output that could not be written is not a success."""
    with Path("/dev/full").open("w") as full:
        ended = account.run(*arguments, stdout=full)
    assert one_line(ended, status=FAILURE) == "autolith: No space left on device"


def test_a_reader_that_leaves_is_no_error(account: Account) -> None:
    """Field case A-59: nothing on standard error, status 0 or 141, buffered or not."""
    for script in (
        "$AUTOLITH models | head -1",
        "$AUTOLITH models | true",
        "PYTHONUNBUFFERED=1 $AUTOLITH models | true",
        "$AUTOLITH --help | head -c 10",
        "$AUTOLITH models >&-",
    ):
        ended = account.shell(f"{script}; exit ${{PIPESTATUS[0]}}")
        assert ended.stderr == "", script
        assert ended.returncode in (0, 141), script


def test_output_never_goes_into_the_store(account: Account) -> None:
    """With standard output closed, the first file to be opened does not become it."""
    account.run("ls")
    ended = account.shell("$AUTOLITH ls >&- 2>&- <&-; $AUTOLITH ls")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_an_unwritable_root_is_one_line(account: Account) -> None:
    """A file where a root should be."""
    account.directory.mkdir(parents=True, exist_ok=True)
    (account.directory / ".local").write_text("")
    line = one_line(account.run("ls"), status=FAILURE)
    assert str(account.directory / ".local") in line


def test_a_damaged_store_is_one_line(account: Account) -> None:
    """A store that is no database."""
    account.run("ls")
    store = account.directory / ".local/share/autolith/store.db"
    for part in store.parent.glob("store.db*"):
        part.unlink()
    store.write_bytes(b"no database at all" * 100)
    assert "file is not a database" in one_line(account.run("ls"), status=FAILURE)


def test_an_export_does_not_replace_a_file(account: Account) -> None:
    """The conversation is checked first."""
    line = one_line(account.run("export", "x", "--output", "/dev/null"), status=FAILURE)
    assert line == "autolith: There is no conversation 'x'"


def test_no_colour_reaches_a_file(account: Account) -> None:
    """Field case A-61: no sequence without a terminal."""
    assert "\x1b" not in account.run("--help").stdout
    assert "\x1b" not in account.run("ls", environ={"TERM": "xterm-256color"}).stdout


def test_an_unexpected_failure_is_a_line_and_debug_shows_where(account: Account) -> None:
    """Status 70, as for a fatal failure; the traceback only on request."""
    account.run("ls")
    (store,) = account.directory.rglob("store.db")
    with sqlite3.connect(store) as connection:
        row = ("odd", "when?", "when?", "/", "h", "", 0)
        connection.execute("insert into conversations values (?, ?, ?, ?, ?, ?, ?)", row)
    line = one_line(account.run("ls"), status=70)
    assert "unexpected failure" in line
    assert "run with --debug to see where" in line
    shown = account.run("--debug", "ls")
    assert "Traceback (most recent call last)" in shown.stderr
    assert shown.returncode == 70


def test_a_key_is_stored_privately_and_removed(account: Account) -> None:
    """From standard input, with the brackets of a paste taken off."""
    stored = account.run("auth", "openai", stdin="\x1b[200~sk-test-1234\x1b[201~\n")
    assert (stored.returncode, stored.stderr) == (0, "")
    assert "sk-test" not in stored.stdout
    path = account.directory / ".local/state/autolith/api-keys.sexp"
    assert '"sk-test-1234"' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert account.run("auth", "openai", "--remove").returncode == 0
    assert "There is no stored key" in one_line(
        account.run("auth", "openai", "--remove"), status=FAILURE
    )


@pytest.mark.parametrize("key", ["", "\n", "two words\n", "kéy\n"])
def test_what_is_no_key_is_refused_without_being_repeated(account: Account, key: str) -> None:
    """Neither empty nor with spaces nor beyond ASCII."""
    line = one_line(account.run("auth", "openai", stdin=key), status=FAILURE)
    assert "key" in line
    assert "two words" not in line
