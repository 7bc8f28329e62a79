# Everything runs in one virtual environment that is made on demand: only Python 3.11+, pip and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# The oldest and the newest release of numba that `make test-numba` tries, each in an environment of its own.
NUMBA_RELEASES := 0.61.* 0.68.*

# Real data for the tests: the folder that the environment names, else one beside the checkout, else none.
SIBLING_DATA := $(wildcard $(CURDIR)/../shared/data)
ifneq ($(SIBLING_DATA),)
export BCFW_DATA ?= $(abspath $(SIBLING_DATA))
endif

.PHONY: demo test test-all test-numba lint format bench clean

demo: $(READY)
	$(BIN)/bcfw demo

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: export BCFW_TEST_ALL := 1
test-all: test

test-numba: pyproject.toml
	set -e; for release in $(NUMBA_RELEASES); do \
	  folder=$(VENV)-numba-$${release%.*}; \
	  test -x $$folder/bin/python || $(PYTHON) -m venv $$folder; \
	  $$folder/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]' "numba==$$release"; \
	  $$folder/bin/python -m pytest -n auto --dist worksteal $(NUMBA_TESTS); \
	done

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/step_cost.py

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "bcfw needs Python 3.11 or newer"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-numba-* .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
