"""Path authority: nothing outside of the workspace is reached, however it is named (A-35)."""

import os
import threading
from pathlib import Path

import pytest

from activities.errors import AccessDenied, MissingResource, OperationUnsupported, ToolError
from activities.workspace.paths import Place, entered, locate
from activities.workspace.publication import publish
from activities.workspace.revision import snapshot


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace beside a directory that is not in it, with links to it."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret\n")
    (tmp_path / "ws-evil").mkdir()
    (workspace / "esc").symlink_to(tmp_path / "outside")
    (workspace / "up").symlink_to("..")
    (workspace / "inside").mkdir()
    (workspace / "in").symlink_to("inside")
    return workspace


@pytest.mark.parametrize(
    "name",
    [
        "esc",
        "esc/secret",
        "esc/new/f",
        "esc/new/../../f",
        "in/../../outside/secret",
        "up/outside/new",
        "up/ws-evil/x",
        "../ws-evil/x",
        "..",
        "/",
        "/etc/passwd",
        "new/../../outside",
    ],
)
def test_a_path_that_leads_out_is_refused(workspace: Path, name: str) -> None:
    """Whether or not its end exists."""
    with pytest.raises(AccessDenied, match="leads out of the workspace"):
        locate(workspace, name)


def test_a_sibling_with_the_same_beginning_is_outside(workspace: Path) -> None:
    """Components are compared, not characters."""
    with pytest.raises(AccessDenied):
        locate(workspace, f"{workspace}-evil/x")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("in/new", "inside/new"),
        ("in/../x", "x"),
        ("up/ws/x", "x"),
        ("missing/../x", "x"),
        ("~/x", "~/x"),
        (".", "."),
        ("", "."),
    ],
)
def test_a_path_inside_is_canonical(workspace: Path, name: str, path: str) -> None:
    """Links are resolved and dots removed; a tilde is a name."""
    assert locate(workspace, name).path == path
    assert locate(workspace, f"{workspace}/{name}").path == path


def test_a_workspace_may_be_a_link(workspace: Path, tmp_path: Path) -> None:
    """Both of its names lead to the same place."""
    link = tmp_path / "link"
    link.symlink_to(workspace)

    places = {
        locate(link, "a"),
        locate(link, f"{link}/a"),
        locate(link, f"{workspace}/a"),
        locate(workspace, f"{link}/a"),
    }

    assert places == {Place(workspace, ("a",))}


def test_a_place_has_one_identity(workspace: Path) -> None:
    """However it is spelled, and with every character encoded that a URI cannot hold."""
    place = locate(workspace, "in/./" + os.fsdecode(b"a b%20\xff\n"))

    assert place.uri == "workspace:inside/a%20b%2520%FF%0A"
    assert place.identity == f"workspace:{workspace}/inside/a%20b%2520%FF%0A"
    assert str(place) == "inside/a b%20\N{REPLACEMENT CHARACTER}\N{SYMBOL FOR LINE FEED}"


@pytest.mark.parametrize("name", ["inside/sub", "inside"])
def test_a_directory_that_became_a_link_is_not_entered(
    workspace: Path, tmp_path: Path, name: str
) -> None:
    """The check was before, the use is after."""
    (workspace / "inside/sub").mkdir()
    place = locate(workspace, "inside/sub")
    (workspace / name).rename(tmp_path / "away")
    (workspace / name).symlink_to(tmp_path / "outside")

    with pytest.raises(AccessDenied, match="passes a link"), entered(place):
        pass
    with pytest.raises(AccessDenied, match="passes a link"), entered(place, create=True):
        pass

    assert names(tmp_path / "outside") == ["secret"]


def test_a_file_that_became_a_link_is_not_read(workspace: Path) -> None:
    """Not even when it leads to a file of the workspace."""
    file = workspace / "f"
    file.touch()
    place = locate(workspace, "f")
    file.unlink()
    file.symlink_to("esc/secret")

    with entered(place.parent) as parent, pytest.raises(AccessDenied):
        snapshot(place, parent)


def test_directories_are_made_below_the_workspace_only(workspace: Path) -> None:
    """A missing one is made; a file in the way is named."""
    with entered(locate(workspace, "new/deep"), create=True):
        pass
    assert (workspace / "new/deep").is_dir()
    (workspace / "file").touch()
    with (
        pytest.raises(OperationUnsupported, match="file is not a directory"),
        entered(locate(workspace, "file/x"), create=True),
    ):
        pass
    with pytest.raises(MissingResource), entered(locate(workspace, "other/x")):
        pass


def test_no_descriptor_is_left_open(workspace: Path) -> None:
    """Whatever happens on the way."""
    before = len(names(Path("/proc/self/fd")))
    for name in ("inside", "missing/x", "new/deep/er"):
        for create in (False, True):
            try:
                with entered(locate(workspace, name), create=create):
                    pass
            except MissingResource:
                continue

    assert len(names(Path("/proc/self/fd"))) == before


def test_a_directory_that_flickers_never_leads_out(workspace: Path, tmp_path: Path) -> None:
    """It is replaced by a link again and again while a file in it is edited."""
    flicker, away, link = workspace / "inside/d", tmp_path / "away", tmp_path / "link"
    flicker.mkdir()
    link.symlink_to(tmp_path / "outside")
    for directory in (flicker, link):
        (directory / "f").write_bytes(b"x")
    before = (tmp_path / "outside/f").stat()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            flicker.rename(away)
            link.rename(flicker)
            flicker.rename(link)
            away.rename(flicker)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        outcomes = [_rewrite(Place(workspace, ("inside", "d", "f"))) for _ in range(300)]
    finally:
        stop.set()
        thread.join()

    assert (tmp_path / "outside/f").read_bytes() == b"x"
    assert (tmp_path / "outside/f").stat() == before
    assert names(tmp_path / "outside") == ["f", "secret"]
    assert all(outcome is None or isinstance(outcome, ToolError) for outcome in outcomes)


def _rewrite(place: Place) -> Exception | None:
    try:
        with entered(place.parent) as parent:
            present = snapshot(place, parent)
        publish(place, b"y", base=present.digest, key="k")
    except Exception as error:  # noqa: BLE001 -- the test asserts what kinds there are
        return error
    return None


def names(directory: Path) -> list[str]:
    """Return what is in *directory*."""
    return sorted(path.name for path in directory.iterdir())
