"""Stored keys are private, survive concurrent changes, and never show in a message."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from activities.configuration.forms import read_form
from activities.errors import ConfigurationError, UnwritableRootError
from activities.provider.credentials import Credentials


def test_a_key_is_stored_found_and_forgotten(tmp_path: Path) -> None:
    """The whole life of two keys."""
    credentials = Credentials(tmp_path)
    assert credentials.key("openai") is None
    credentials.save("openai", " sk-1\n")
    credentials.save("local", "sk-2")
    credentials.save("openai", "sk-3")
    assert credentials.key("openai") == "sk-3"
    assert credentials.providers() == ("local", "openai")
    assert credentials.remove("openai") is True
    assert credentials.remove("openai") is False
    assert credentials.providers() == ("local",)


def test_both_files_are_private(tmp_path: Path) -> None:
    """Nobody else reads the keys, or holds the lock for ever."""
    Credentials(tmp_path).save("openai", "sk-1")
    for name in ("api-keys.sexp", "api-keys.lock"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_the_file_is_pinned(tmp_path: Path) -> None:
    """Files outlive releases."""
    Credentials(tmp_path).save("openai", "sk-1")
    written = (tmp_path / "api-keys.sexp").read_text()
    assert written == '(:version 1 :keys ((:provider "openai" :key "sk-1")))\n'
    assert read_form(tmp_path / "api-keys.sexp")


def test_concurrent_changes_are_all_kept(tmp_path: Path) -> None:
    """Several processes save at once, and no key is lost."""
    program = (
        "import sys; from pathlib import Path;"
        "from activities.provider.credentials import Credentials;"
        "[Credentials(Path(sys.argv[1])).save(f'{sys.argv[2]}-{n}', 'sk') for n in range(10)]"
    )
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], cwd=root)
        for name in ("a", "b", "c")
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert len(Credentials(tmp_path).providers()) == 30


@pytest.mark.parametrize(
    "content",
    [
        "(:version 2 :keys ())",
        "(:version 1)",
        "(:version 1 :keys 3)",
        '(:version 1 :keys ((:provider "a" :key "secret word")))',
        '(:version 1 :keys ((:provider "a" :key "s") (:provider "a" :key "t")))',
        '(:version 1 :keys ((:provider "a" :key "s" :extra 1)))',
        "(:version 1 :keys",
    ],
)
def test_a_malformed_file_is_named_and_kept(tmp_path: Path, content: str) -> None:
    """A damaged file is not overwritten, and its keys are not shown."""
    path = tmp_path / "api-keys.sexp"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=r"api-keys\.sexp") as caught:
        Credentials(tmp_path).save("b", "sk")
    assert "secret word" not in str(caught.value)
    assert path.read_text() == content


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """The person should know, and is told the remedy."""
    Credentials(tmp_path).save("openai", "sk-1")
    (tmp_path / "api-keys.sexp").chmod(0o640)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        Credentials(tmp_path).key("openai")


@pytest.mark.parametrize(
    ("provider", "key"), [("Open AI", "sk"), ("", "sk"), ("a", ""), ("a", "b c")]
)
def test_what_cannot_be_stored_is_refused(tmp_path: Path, provider: str, key: str) -> None:
    """Nothing is written then."""
    with pytest.raises(ConfigurationError):
        Credentials(tmp_path).save(provider, key)
    assert Credentials(tmp_path).providers() == ()


def test_a_missing_state_root_is_named(tmp_path: Path) -> None:
    """One line with the path."""
    with pytest.raises(UnwritableRootError, match=r"none/api-keys\.lock: cannot be opened"):
        Credentials(tmp_path / "none").save("openai", "sk")
