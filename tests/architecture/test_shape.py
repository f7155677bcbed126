"""Budgets and habits that a linter does not know."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("workflows", "activities", "worker", "cli")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
LONGEST_MODULE = 300
LONGEST_FUNCTION = 50
HOSTS = (("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs"), ("deb", "debian", "org"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_about_one_noun(path: Path) -> None:
    """It opens with a promise and stays within its budget."""
    text = path.read_text()
    tree = ast.parse(text)

    assert ast.get_docstring(tree), "no module docstring"
    assert len(text.splitlines()) <= LONGEST_MODULE
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


def test_only_the_two_doors_catch_everything() -> None:
    """The worker's and the command line's main may; nobody else."""
    broad = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
    }

    assert broad <= {"worker/main.py", "cli/main.py", "cli/failures.py"}


def test_no_file_names_a_registry() -> None:
    """Packages come by name; where from is the machine's business."""
    hosts = [".".join(words) for words in HOSTS]
    tracked = [path for path in ROOT.rglob("*") if path.is_file() and _is_ours(path)]

    named = [
        str(path.relative_to(ROOT))
        for path in tracked
        if any(host in path.read_text(errors="replace") for host in hosts)
    ]

    assert named == []


def _is_ours(path: Path) -> bool:
    hidden = {".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__"}
    return not hidden & set(path.relative_to(ROOT).parts) and path.suffix in {
        ".py",
        ".md",
        ".toml",
        ".txt",
        ".yaml",
        ".sexp",
        "",
    }
