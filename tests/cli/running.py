"""An account whose runtime runs, with a scripted model behind it."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from activities.configuration.locations import store_url
from activities.store.database import Database
from activities.store.record import read_record
from tests.cli.command import PATIENCE, Account

T = TypeVar("T")

SCRIPT = r"""
(:version 1
 :replies
 ((:when (:user "greet") :repeat t
   :text "Hello from the script.")
  (:when (:user "story") :repeat t :reasoning "let me think" :delay 0.02
   :text "Once upon a time there was a test that waited for every word.\n\nThe end.")
  (:when (:user "touch" :results-in-turn 0) :repeat t
   :text "I run it."
   :calls ((:tool "shell.run" :arguments (:command "echo ran >> ran.txt; echo finished"))))
  (:when (:user "touch" :result "denied") :repeat t :text "I may not.")
  (:when (:user "touch") :repeat t :text "It ran.")
  (:when (:user "slumber" :results-in-turn 0) :repeat t
   :calls ((:tool "shell.run" :arguments (:command "echo $$ > pid.txt; exec sleep 300"))))
  (:when (:user "slumber") :repeat t :text "I slept.")
  (:when (:user "drip") :repeat t :delay 0.15 :piece 5
   :text "one two three four five six seven eight nine ten eleven twelve thirteen fourteen")
  (:when (:user "endless") :repeat t :delay 0.2 :piece 4
   :text "and on and on and on and on and on and on and on and on and on and on and on and on
and on and on and on and on and on and on and on and on and on and on and on and on and on")
  (:when (:user "broken" :attempt 1) :repeat t :delay 0.05 :piece 8
   :text "This sentence will never be" :fault (:kind cut :after 2))
  (:when (:user "broken") :repeat t :text "This sentence is whole.")
  (:when (:user "refuse") :repeat t :fault (:kind status :status 400 :message "not like this"))
  (:when (:user "hostile") :repeat t
   :text "\u001b[2J\u001b]0;owned\u0007\u202eevil\rover")
  (:when (:user "wide") :repeat t :delay 0.02 :piece 7
   :text "日本語のテキストは二つのセルを使うので折り返しも正しくなければならない。"))
 :default (:text "I do not know that one."))
"""


@dataclass
class Running(Account):
    """Commands of this account reach a running runtime."""

    provider: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Start the provider and the runtime."""
        script = self.workspace.parent / "script.sexp"
        script.write_text(SCRIPT, encoding="utf-8")
        self.provider = self.start("provider", "serve", "--script", str(script))
        assert self.provider.stdout is not None
        endpoint = self.provider.stdout.readline().strip()
        self.extra = {"AUTOLITH_OPENAI_ENDPOINT": endpoint, "AUTOLITH_MODEL": "scripted"}
        started = self.run("up")
        assert started.returncode == 0, started.stderr

    def end(self) -> None:
        """Stop both."""
        self.run("down")
        if self.provider is not None:
            self.provider.terminate()
            self.provider.communicate(timeout=PATIENCE)

    def status(self) -> dict[str, Any]:
        """Return what runs."""
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def begun(self, prompt: str = "greet", *options: str) -> str:
        """Return the id of a conversation in which one turn has run."""
        ended = self.run("run", prompt, "--json", *options)
        conversation: str = json.loads(ended.stdout.splitlines()[0])["conversation"]
        return conversation

    def record(self, conversation: str) -> dict[str, Any]:
        """Return what the store knows of *conversation*."""
        url = store_url(self.directory / ".local/share/autolith", self.environ)
        database = Database.open(url)
        try:
            record = database.read_now(lambda tx: read_record(tx, conversation))
        finally:
            database.close()
        found: dict[str, Any] = record.model_dump(mode="json")
        return found

    def outcomes(self, conversation: str) -> list[str | None]:
        """Return how the turns of *conversation* ended."""
        return [turn["record"]["outcome"] for turn in self.record(conversation)["turns"]]

    def texts(self, conversation: str) -> list[str]:
        """Return every message and answer of *conversation*."""
        items = [
            item["item"] for turn in self.record(conversation)["turns"] for item in turn["items"]
        ]
        return [item["text"] for item in items if item["kind"] in ("user", "assistant")]

    def path(self, name: str) -> Path:
        """Return a file of the workspace."""
        return self.workspace / name


def until(fact: Callable[[], T]) -> T:
    """Return what *fact* returns once it is true, within the tests' patience."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := fact():
            return found
        time.sleep(0.05)
    raise TimeoutError(fact)


def is_alive(pid: int) -> bool:
    """Whether *pid* is a living process."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
