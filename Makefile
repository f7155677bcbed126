# The verbs of this project.  Each works on a fresh machine with Python 3.11+ and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# The whole suite on two cores; a test that hangs is killed by pytest-timeout.
PYTEST_FLAGS ?= -q -n 2 --dist loadfile

.PHONY: install test check bench demo clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

test: $(INSTALLED)
	$(BIN)/pytest $(PYTEST_FLAGS)

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/architecture tests/replay

bench: $(INSTALLED)
	$(BIN)/python -m tests.bench $(if $(ONLY),--only $(ONLY))

demo: $(INSTALLED)
	$(BIN)/autolith demo

clean:
	rm -rf $(VENV) dist .bench
