"""What the documents say can be typed."""

import re
from pathlib import Path

import click
import pytest

from cli.main import autolith

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?autolith (?!-)([a-z]+)", re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_document_exists(path: Path) -> None:
    """A renamed command is renamed everywhere."""
    context = click.Context(autolith)
    known = set(autolith.list_commands(context))

    assert set(COMMAND.findall(path.read_text())) <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    """Relative links name files of the repository."""
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text())

    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert missing == []


def test_every_decision_is_a_page() -> None:
    """Numbered without gaps, with context, decision and consequences."""
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))

    assert [int(path.name[:4]) for path in decisions] == list(range(1, len(decisions) + 1))
    for path in decisions:
        text = path.read_text()
        assert len(text.splitlines()) <= 80, path.name
        for part in ("Context", "Decision", "Consequences"):
            assert part in text, f"{path.name}: {part}"


def test_the_make_targets_of_the_readme_exist() -> None:
    """The README's verbs are the Makefile's."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert (
        set(re.findall(r"^\$ make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
        <= targets
    )
