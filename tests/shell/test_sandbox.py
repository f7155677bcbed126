"""The sandbox of domain reference 6.2, from inside: every way out is shut."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from activities.errors import SandboxUnavailable
from activities.shell import sandbox
from activities.shell.repositories import metadata_in
from activities.tools.tool import ToolResult
from tests.shell.site import Site
from workflows.contracts.permission import Grant

READ_ONLY = "Read-only file system"


async def isolated(
    site: Site,
    command: str,
    ordinal: int = 0,
    **rest: Any,
) -> ToolResult:
    """Run *command* in the sandbox."""
    return await site.run(command, site.context(ordinal, grant=Grant.SANDBOX), **rest)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory of the host that is neither the workspace nor temporary."""
    directory = Path(mkdtemp(dir=Path.home(), prefix=".autolith-test-"))
    try:
        yield directory
    finally:
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()


@pytest.fixture
def server() -> Iterator[int]:
    """A server on the loopback of the host, by its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_greet, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]


def _greet(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"hello\n")


def git(*words: str | Path, where: Path) -> None:
    """Run git quietly, as somebody."""
    identity = ["-c", "user.name=N", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *identity, *words], cwd=where, check=True, capture_output=True)


async def test_the_workspace_and_a_temporary_directory_can_be_written(site: Site) -> None:
    """Ordinary work is possible, and nothing of the temporary directory stays."""
    name = f"autolith-{os.getpid()}"
    command = f'echo 1 > made; echo 2 > "$TMPDIR/{name}"; cat made "$TMPDIR/{name}"; pwd'

    result = await isolated(site, command)

    assert result.text == f"exit 0\n1\n2\n{site.workspace}"
    assert (site.workspace / "made").read_text() == "1\n"
    assert not Path("/tmp", name).exists()


async def test_exit_status_streams_and_directory_are_the_commands(site: Site) -> None:
    """Isolation changes nothing else."""
    (site.workspace / "sub").mkdir()

    result = await isolated(
        site, "pwd; echo err >&2; exit 9", directory="sub", separate_output=True
    )

    assert result.text == f"exit 9\n[stdout]\n{site.workspace}/sub\n\n[stderr]\nerr"


async def test_the_host_can_be_read_and_not_written(site: Site, outside: Path) -> None:
    """Not even by root, with a new mount, or through another process."""
    (outside / "file").write_text("kept\n")
    command = (
        f"cat {outside}/file; echo bad > {outside}/file; touch {outside}/new /etc/new; "
        f"mount -o remount,rw /; mount -o remount,rw {outside}; "
        f"unshare -Ur mount -o remount,rw /; echo bad > {outside}/file; "
        f"echo bad > /proc/1/root{outside}/file; echo 1 > /proc/sys/kernel/panic; true"
    )

    result = await isolated(site, command)

    assert result.text.startswith("exit 0\nkept\n")
    assert result.text.count(READ_ONLY) >= 5
    assert (outside / "file").read_text() == "kept\n"
    assert [path.name for path in outside.iterdir()] == ["file"]


async def test_no_power_is_left(site: Site) -> None:
    """Root inside is an account like any other: it has no capability, and cannot get one."""
    result = await isolated(site, "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status")

    values = {line.split()[0]: line.split()[1] for line in result.text.splitlines()[1:]}
    assert values.pop("NoNewPrivs:") == "1"
    assert set(values.values()) == {"0" * 16}


async def test_there_is_no_network(site: Site, server: int) -> None:
    """Neither the loopback of the host nor anything behind it."""
    connect = f"bash -c 'cat < /dev/tcp/127.0.0.1/{server}'"

    free = await site.run(connect)
    shut = await isolated(site, connect, 1, timeout_seconds=20)

    assert free.text == "exit 0\nhello"
    assert "hello" not in shut.text
    assert "Connection refused" in shut.text


async def test_abstract_and_service_sockets_are_out_of_reach(site: Site) -> None:
    """A container daemon's socket would undo everything; there is none to see."""
    result = await isolated(site, "ls -A /run /var/run/; echo; ls /run | wc -l")

    assert result.text.splitlines()[-1] == "0"


async def test_other_processes_are_out_of_reach(site: Site) -> None:
    """Nothing of the host can be seen or signalled, not even the runner."""
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        result = await isolated(site, f"kill -9 {bystander.pid}; ls -d /proc/[0-9]* | wc -l")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()

    assert "No such process" in result.text
    assert int(result.text.splitlines()[-1]) < 10


async def test_git_metadata_is_protected(site: Site) -> None:
    """Repositories can be read and not changed: no hook, no setting, no commit."""
    nested = site.workspace / "vendor" / "library"
    nested.mkdir(parents=True)
    for repository in (site.workspace, nested):
        git("init", "-q", where=repository)
    command = (
        "git status --short; for r in . vendor/library; do "
        "echo x > $r/.git/hooks/pre-commit; git -C $r config core.fsmonitor /x; "
        "rm -rf $r/.git; mv $r/.git $r/gone; done; echo edit > file"
    )

    await isolated(site, command)

    for repository in (site.workspace, nested):
        assert not (repository / ".git" / "hooks" / "pre-commit").exists()
        assert "fsmonitor" not in (repository / ".git" / "config").read_text()
        assert (repository / ".git" / "HEAD").exists()
    assert (site.workspace / "file").read_text() == "edit\n"


async def test_a_linked_worktree_protects_what_it_is_linked_to(site: Site) -> None:
    """Its file, its administrative directory and the common directory."""
    common = site.workspace / "common.git"
    main = site.workspace / "main"
    git("init", "-q", "--separate-git-dir", common, main, where=site.workspace)
    git("commit", "-q", "--allow-empty", "-m", "First", where=main)
    git("worktree", "add", "-q", "../linked", where=main)

    assert metadata_in(site.workspace) == [
        common,
        common / "worktrees" / "linked",
        site.workspace / "linked" / ".git",
        main / ".git",
    ]
    await isolated(
        site, "echo 'gitdir: /x' > linked/.git; rm -f linked/.git; touch common.git/hooks/evil"
    )

    assert str(common) in (site.workspace / "linked" / ".git").read_text()
    assert not (common / "hooks" / "evil").exists()


async def test_a_linked_metadata_directory_refuses_the_sandbox(site: Site) -> None:
    """A symbolic link could be pointed elsewhere, so it is not run at all."""
    git("init", "-q", "elsewhere", where=site.root)
    (site.workspace / ".git").symlink_to(site.root / "elsewhere" / ".git")

    with pytest.raises(SandboxUnavailable, match="is a symbolic link and cannot be protected"):
        await isolated(site, "touch happened")

    assert not (site.workspace / "happened").exists()


async def test_what_is_private_to_autolith_is_not_there(site: Site, outside: Path) -> None:
    """Credentials, the sealing key, the store and the captures do not exist inside."""
    (site.state / "seal.key").write_text("key")
    (outside / "auth.sexp").write_text("token")
    site.private = (outside,)
    command = f"cat {site.state}/seal.key {outside}/auth.sexp; ls -A {site.state} {outside}"

    result = await isolated(site, command)

    assert result.text.count("No such file or directory") == 2
    assert "key\n" not in result.text
    assert "token" not in result.text
    assert (site.state / "seal.key").read_text() == "key"


async def test_private_directories_inside_the_workspace_are_hidden_too(site: Site) -> None:
    """Of two mounts the deeper one decides, in either order."""
    inner = site.workspace / "inner"
    inner.mkdir()
    (inner / "secret").write_text("x")
    below = site.state / "checkout"
    below.mkdir()
    site.private = (inner,)

    hidden = await isolated(site, "ls -A inner")
    context = site.context(1, grant=Grant.SANDBOX, workspace=below)
    await site.run("touch written", context)

    assert hidden.text == "exit 0\n(no output)"
    assert (below / "written").exists()


async def test_a_private_directory_is_no_workspace(site: Site) -> None:
    """Hidden and writable at once is neither."""
    with pytest.raises(SandboxUnavailable, match="cannot be a workspace"):
        await site.run("true", site.context(grant=Grant.SANDBOX, workspace=site.state))


async def test_a_timeout_reaches_into_the_sandbox(site: Site) -> None:
    """Polite first, and nothing survives, whatever it ignores."""
    command = (
        "trap 'echo cleaned' TERM; (trap '' TERM; while :; do sleep 0.1; done) & "
        "setsid sleep 600 & echo ready; while :; do sleep 0.05; done"
    )

    result = await isolated(site, command, timeout_seconds=1)

    assert result.text.startswith("timeout after 1 s\nready")
    assert "cleaned" in result.text
    assert site.survivors() == []


async def test_a_background_child_does_not_outlive_the_sandbox(site: Site) -> None:
    """It ends with its namespace, and the result does not wait."""
    result = await isolated(site, "sleep 600 & echo fg", timeout_seconds=300)

    assert result.text.startswith("exit 0\nfg")
    assert site.survivors() == []


async def test_without_bubblewrap_nothing_runs(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing program, or one that does not isolate, refuses; it never runs unisolated."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert not sandbox.available()
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        await isolated(site, "/bin/touch happened")

    (programs / "bwrap").write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
    (programs / "bwrap").chmod(0o755)
    assert not sandbox.available()
    with pytest.raises(SandboxUnavailable):
        await isolated(site, "/bin/touch happened")

    assert not (site.workspace / "happened").exists()


def test_bubblewrap_works_here() -> None:
    """Where the sandbox is never entered, this suite would prove nothing."""
    assert sandbox.available()
