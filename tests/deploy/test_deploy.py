"""Unit, image, compose file and their README against the flags and variables of the code."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.configuration.locations import Roots
from worker.embedded.namespace import NAMESPACE, RETENTION
from worker.embedded.readiness import own_command
from worker.embedded.server import STOP as SERVER_STOP
from worker.embedded.worker_service import STOP as WORKER_STOP
from worker.sealing.keys import KEY_FILE
from workflows.policy.search import ALL
from workflows.policy.timeouts import GRACEFUL_STOP

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.suffix != ".key" and path.name[0] != ".")
SOURCES = ("autolith.py", "cli", "worker", "activities", "workflows")
IMAGE_HOME = "/home/autolith"
VARIABLE = re.compile(r"\bAUTOLITH_[A-Z_]+\b")


def understood(words: list[str]) -> None:
    """Fail unless the command line knows every one of *words*."""
    done = subprocess.run(
        own_command(sys.executable, *words, "--help"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def unit() -> ConfigParser:
    """Return the systemd unit."""
    parser = ConfigParser(strict=True, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    parser.read_string((DEPLOY / "autolith.service").read_text())
    return parser


def image() -> list[tuple[str, str]]:
    """Return the instructions of the image with their arguments."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def compose() -> Any:
    """Return the compose file with its anchors resolved."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def workers() -> dict[str, Any]:
    """Return the services that are built from our image."""
    return {name: each for name, each in compose()["services"].items() if "build" in each}


def documented() -> Iterator[list[str]]:
    """Yield every command of Autolith in the README."""
    for block in re.findall(r"```sh\n(.*?)```", (DEPLOY / "README.md").read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("autolith "):
                yield shlex.split(line)[1:]


def test_the_unit_starts_what_exists() -> None:
    """Its command is one of ours, with flags that it has."""
    program, *words = shlex.split(unit()["Service"]["ExecStart"])

    assert program == "%h/.local/bin/autolith"
    assert words == ["up", "--foreground"]
    understood(words)


def test_the_unit_leaves_commands_running() -> None:
    """A stop is for the supervisor, which gets the time that it needs."""
    service = unit()["Service"]

    assert service["Type"] == "notify"
    assert service["KillMode"] == "process"
    assert service["OOMPolicy"] == "continue"
    assert service["UMask"] == "0077"
    assert float(service["TimeoutStopSec"]) > WORKER_STOP + SERVER_STOP
    assert unit()["Install"]["WantedBy"] == "default.target"


def test_the_image_holds_the_whole_product() -> None:
    """Everything that the wheel consists of is copied, and what is copied exists."""
    copied = {
        source
        for instruction, arguments in image()
        if instruction == "COPY"
        for source in arguments.split()[:-1]
    }
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())

    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {name for name in copied if not (REPOSITORY / name).exists()} == set()
    assert copied >= {*wheel, "pyproject.toml", "constraints.txt", "README.md", "LICENSE"}
    commands = [arguments for instruction, arguments in image() if instruction == "RUN"]
    install = next(words for words in commands if words.startswith("pip install"))
    assert "--constraint constraints.txt '.[postgresql]'" in install
    assert "postgresql" in project["project"]["optional-dependencies"]
    system = next(words for words in commands if "apt-get install" in words)
    assert {"bubblewrap", "git"} <= set(system.split())


def test_the_image_runs_as_nobody_special() -> None:
    """It starts our command as an account of its own, which owns its roots."""
    instructions = dict(image())

    assert instructions["USER"] == "autolith"
    words = json.loads(instructions["CMD"])
    assert json.loads(instructions["ENTRYPOINT"]) == ["autolith"]
    understood(words)
    roots = Roots.of({"HOME": IMAGE_HOME})
    made = " ".join(arguments for instruction, arguments in image() if instruction == "RUN")
    for root in (roots.config, roots.data, roots.state, roots.cache):
        assert f" {root} " in made
    assert json.loads(instructions["VOLUME"]) == [IMAGE_HOME, "/workspace"]


def test_the_workers_of_the_cluster_start_what_exists() -> None:
    """With flags that the worker has, and time for its graceful end."""
    assert len(workers()) == 2
    for worker in workers().values():
        assert worker["command"][-1] == "worker"
        understood(worker["command"])
        assert worker["init"] is True
        assert float(worker["stop_grace_period"].rstrip("s")) > GRACEFUL_STOP.total_seconds()
        dockerfile = DEPLOY / worker["build"]["context"] / worker["build"]["dockerfile"]
        assert dockerfile.samefile(DEPLOY / "Dockerfile")


def test_workers_share_the_key_and_the_objects_and_nothing_else() -> None:
    """Two hosts with one state root would take each other's executions for their own."""
    mounts = [
        {target: source for source, target, *_ in (each.split(":") for each in worker["volumes"])}
        for worker in workers().values()
    ]
    roots = Roots.of({"HOME": IMAGE_HOME})

    shared = {target for target in mounts[0] if mounts[0][target] == mounts[1][target]}
    assert shared == {str(roots.state / KEY_FILE), str(roots.data)}
    assert mounts[0].keys() == mounts[1].keys() == shared | {str(roots.state), "/workspace"}


def test_the_services_refer_to_each_other() -> None:
    """Every dependency and every volume is declared."""
    content = compose()
    services = content["services"]

    assert {name for each in services.values() for name in each.get("depends_on", ())} <= set(
        services
    )
    used = {
        volume.split(":")[0]
        for each in services.values()
        for volume in each.get("volumes", ())
        if not volume.startswith(".")
    }
    assert used == set(content["volumes"])


def test_the_cluster_listens_on_loopback_only() -> None:
    """Whoever wants it to be reached from elsewhere has to read the README first."""
    published = [port for each in compose()["services"].values() for port in each.get("ports", ())]

    assert sorted(published) == ["127.0.0.1:5432:5432", "127.0.0.1:7233:7233"]


def test_no_password_is_written_down() -> None:
    """Each comes from the environment, and its absence is an error."""
    secrets = {
        name: value
        for each in compose()["services"].values()
        for name, value in each["environment"].items()
        if name.endswith(("PASSWORD", "PWD", "STORE"))
    }

    assert secrets.keys() == {
        "AUTOLITH_STORE",
        "POSTGRES_PASSWORD",
        "POSTGRES_PWD",
        "SQL_PASSWORD",
        "STORE_PASSWORD",
        "TEMPORAL_PASSWORD",
    }
    assert all(re.search(r"\$\{\w+:\?", value) for value in secrets.values())


def test_the_namespace_is_prepared_like_the_embedded_one() -> None:
    """The same retention and the same search attributes."""
    service = compose()["services"]["namespace"]
    script = service["command"][0]

    assert service["environment"]["TEMPORAL_NAMESPACE"] == NAMESPACE
    assert re.findall(r"--name (\w+) --type Keyword", script) == [key.name for key in ALL]
    hours = re.findall(r"--retention (\d+)h", script)
    assert [int(each) * 3600 for each in hours] == [RETENTION.total_seconds()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_one_that_the_code_reads(path: Path) -> None:
    """A renamed variable would be ignored without a word."""
    code = "\n".join(
        each.read_text()
        for source in SOURCES
        for each in ([REPOSITORY / source] if source.endswith(".py") else _modules(source))
    )
    known = set(VARIABLE.findall(code))

    assert set(VARIABLE.findall(path.read_text())) <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_a_host_of_the_outside(path: Path) -> None:
    """Images and packages come from wherever the reader has them from."""
    text = path.read_text()

    hosts = re.findall(r"\bhttps?://([^/\s:]+)", text)
    images = re.findall(r"^\s*(?:image:|FROM) (\S+)", text, re.MULTILINE)
    assert set(hosts) <= {"127.0.0.1"}
    assert [name for name in images if "." in name.partition("/")[0].partition(":")[0]] == []


@pytest.mark.parametrize("words", list(documented()), ids=" ".join)
def test_every_documented_command_is_understood(words: list[str]) -> None:
    """The README shows nothing that the command line refuses."""
    understood(words)


def test_the_readme_names_every_file_beside_it() -> None:
    """And no other."""
    text = (DEPLOY / "README.md").read_text()

    beside = {path.name for path in FILES} - {"README.md"}
    assert {name for name in beside if name not in text} == set()


def _modules(package: str) -> Iterator[Path]:
    return (REPOSITORY / package).rglob("*.py")
