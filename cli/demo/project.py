"""The project that the demonstration works on: small, real, with one failing test."""

import subprocess
import sys
from pathlib import Path

STATS = '''\
"""Small statistics."""


def median(numbers):
    """Return the middle of *numbers*."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle]
'''
TESTS = """\
import unittest

from stats import median


class MedianTest(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)


if __name__ == "__main__":
    unittest.main()
"""
IDENTITY = ("-c", "user.name=Autolith demo", "-c", "user.email=demo@localhost")


class Project:
    """A Git repository in a temporary place, with a note of every command that ran in it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.ran = root / "commands-that-ran"

    def create(self) -> None:
        """Write the files and commit them."""
        self.root.mkdir()
        (self.root / "stats.py").write_text(STATS)
        (self.root / "test_stats.py").write_text(TESTS)
        self._git("init", "-q", "-b", "main")
        self._git("add", "--all")
        self._git(*IDENTITY, "commit", "-q", "-m", "Add the median, which is not right yet")

    def command(self, label: str, *, seconds: float) -> str:
        """Return a shell command that runs the tests, takes its time, and leaves a note."""
        tests = f"'{sys.executable}' -B -m unittest -v test_stats"
        return f"echo {label} >> '{self.ran}' && sleep {seconds} && {tests}"

    def runs(self) -> list[str]:
        """Return the label of every command that was started, in order."""
        return self.ran.read_text().split() if self.ran.exists() else []

    def diff(self) -> str:
        """Return what has changed since the commit."""
        return self._git("diff", "--no-color", "--no-ext-diff")

    def tests_pass(self) -> bool:
        """Run the tests once more, independently of everything that was said."""
        command = [sys.executable, "-B", "-m", "unittest", "-q", "test_stats"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, check=False)  # noqa: S603 -- our own words
        return done.returncode == 0

    def _git(self, *words: str) -> str:
        command = ["git", "-C", str(self.root), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- our own words
        return done.stdout
