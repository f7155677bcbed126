"""The product's command as a process, with roots of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
COMMAND = [sys.executable, "-P", "-m", "autolith"]
PATIENCE = 120.0


@dataclass
class Account:
    """One account below *directory*: its roots, its workspace, its environment."""

    directory: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """Where its commands run."""
        found = self.directory / "workspace"
        found.mkdir(parents=True, exist_ok=True)
        return found

    @property
    def environ(self) -> dict[str, str]:
        """What its commands see: nothing of the tester's own settings."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "PYTHONPATH": str(REPOSITORY),
            "LANG": "C.UTF-8",
            **self.extra,
        }

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        stdout: int | Any = subprocess.PIPE,
        environ: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.workspace,
            env={**self.environ, **(environ or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command and leave it running."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.workspace,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a shell line in which ``$AUTOLITH`` is the command."""
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.workspace,
            env={**self.environ, "AUTOLITH": " ".join(COMMAND)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


def one_line(ended: subprocess.CompletedProcess[str], *, status: int) -> str:
    """Return the one line on standard error of a command that ended with *status*."""
    lines = ended.stderr.splitlines()
    assert (ended.returncode, len(lines)) == (status, 1), ended.stderr
    assert "Traceback" not in ended.stderr
    return lines[0]


def json_lines(output: str) -> Sequence[dict[str, Any]]:
    """Return the objects of JSON lines."""
    return [json.loads(line) for line in output.splitlines()]
