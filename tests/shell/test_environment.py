"""A command gets our environment without what is not its business (field case A-22)."""

import subprocess

import pytest

from activities.shell.environment import GIT_LOCAL_VARIABLES, child_environment, is_secret
from tests.shell.site import Site

KEYS = {
    "OPENROUTER_API_KEY": "sek-A-0123456789",
    "MISTRAL_API_KEY": "sek-B-0123456789",
    "AUTOLITH_OPENAI_API_KEY": "sek-D-0123456789",
    "AUTOLITH_SOMETHING_NEW_TOKEN": "sek-E-0123456789",
}
OTHERS = {"MY_OWN_TOKEN": "sek-C", "AUTOLITH_MODEL": "some-model"}
LOOK = "env; cat /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'"


@pytest.fixture
def provider_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product was started with keys and with other things."""
    for name, value in (KEYS | OTHERS).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("provider_keys")
async def test_no_key_is_in_the_command_or_its_parent(site: Site) -> None:
    """Neither its own environment nor that of its parent shows one."""
    result = await site.run(LOOK, separate_output=True)

    captured = (site.directory() / "stdout").read_text()
    for name, value in KEYS.items():
        assert name not in captured
        assert value not in captured
    for name, value in OTHERS.items():
        assert captured.count(f"{name}={value}\n") == 3
    assert "PATH=" in result.text
    assert "HOME=" in result.text


@pytest.mark.usefixtures("provider_keys")
async def test_nothing_of_the_environment_lies_on_the_disk(site: Site) -> None:
    """Even what a command may have is not written down for seven days."""
    await site.run("true")

    for path in site.directory().iterdir():
        assert b"sek-" not in path.read_bytes()


@pytest.mark.usefixtures("provider_keys")
async def test_known_secrets_are_removed_from_results(site: Site) -> None:
    """A key that comes from elsewhere does not reach the transcript either."""
    (site.workspace / "notes").write_text(f"key is {KEYS['MISTRAL_API_KEY']}!\n")
    result = await site.run("cat notes")
    window = await site.read("shell-log:Conv1.1.1.0")
    found = await site.read("shell-log:Conv1.1.1.0", query="key is")

    for text in (result.text, window.text, found.text):
        assert "key is [MISTRAL_API_KEY removed]!" in text
    assert KEYS["MISTRAL_API_KEY"].encode() in (site.directory() / "output").read_bytes()


async def test_the_repository_we_were_started_in_is_not_the_commands(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started from a hook, git still works on the workspace."""
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")

    result = await site.run("git init -q . && git rev-parse --absolute-git-dir")

    assert result.text == f"exit 0\n{site.workspace}/.git"


def test_the_list_of_git_variables_is_the_one_git_has() -> None:
    """Every variable that this Git calls local is on the list."""
    command = ["git", "rev-parse", "--local-env-vars"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert set(names) <= set(GIT_LOCAL_VARIABLES)


@pytest.mark.parametrize("locale", [None, "C", "POSIX", "C.UTF-8"])
async def test_the_locale_is_the_users(
    site: Site, monkeypatch: pytest.MonkeyPatch, locale: str | None
) -> None:
    """Python coerces a C locale for itself; the command gets what was there before."""
    for name in ("LC_ALL", "LANG", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    if locale:
        monkeypatch.setenv("LC_CTYPE", locale)

    result = await site.run('echo "${LC_CTYPE-unset}"')

    assert result.text == f"exit 0\n{locale or 'unset'}"


async def test_bytes_of_the_environment_arrive_unchanged(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable need not be UTF-8."""
    monkeypatch.setenv("ODD", "a\udcffb")

    await site.run('printf %s "$ODD"')

    assert (site.directory() / "output").read_bytes() == b"a\xffb"


def test_settings_are_not_secrets() -> None:
    """Only what is a secret by list or by name is held back."""
    assert not is_secret("AUTOLITH_MODEL")
    assert not is_secret("PATH")
    assert is_secret("AUTOLITH_ANY_SECRET")
    assert child_environment({"A": "1", "OPENAI_API_KEY": "x"}) == {"A": "1"}
