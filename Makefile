# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_OPTIONS := --quiet --disable-pip-version-check --constraint constraints.txt
INSTALL := $(BIN)/python -m pip install $(PIP_OPTIONS)
# DiCE brings an xgboost that the tests' own cannot live with.
PAPER := .venv-paper
# The programs of others pin what they need: one environment for each, in this folder.
OTHERS := .venv-others
# Tests share the cores by file, so that what a file fits is fitted once; each process keeps to one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
SHARED := -n auto --maxprocesses 8 --dist loadfile
# What starts clusters and browsers, or kills them, runs alone.
ALONE := cluster or browser

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all coverage bench guarantee limit advice methods others paper matrix lowest check format lint types clean

help:                      ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/core         ## install, then explain five rejected loans and check the promise
	@$(BIN)/betarce demo

docs: $(VENV)/docs         ## build the documentation into build/site, without network, and check it
	@mkdir -p build
	@$(BIN)/python tools/docstrings.py
	@$(BIN)/python tools/example_coverage.py
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@$(BIN)/python tools/check_site.py build/site
	@echo "Open build/site/index.html in a browser."

test: $(VENV)/test         ## install what the tests need, then run the fast ones
	@$(PYTEST) $(SHARED)

test-all: $(VENV)/test     ## all tests: whole programs, simulations, clusters, browsers too
	@$(PYTEST) $(SHARED) -m "not ($(ALONE))"
	@$(PYTEST) -m "$(ALONE)"

coverage: $(VENV)/dev      ## all tests, and which lines of src they never reach
	@$(PYTEST) $(SHARED) -m "not ($(ALONE))" --cov --cov-report=
	@$(PYTEST) -m "$(ALONE)" --cov --cov-append --cov-report=term-missing

bench: $(VENV)/test        ## measure the speed-ups as ratios in one run
	@$(BIN)/python bench/run.py

guarantee: $(VENV)/test    ## does the promise hold? simulate, resume, write docs/guarantee.md
	@$(if $(wildcard ../shared/reference),BETARCE_REFERENCE_DIR=../shared/reference) \
	  $(BIN)/betarce reproduce guarantee --out docs/results/guarantee
	@$(BIN)/python bench/guarantee.py

limit: $(VENV)/test        ## how far from the closest point possible? writes docs/limits.md
	@$(BIN)/python bench/limit.py

advice: $(VENV)/test       ## what people are told on mixed tables; writes the table of docs/methods.md
	@$(BIN)/python bench/advice.py

methods: $(VENV)/test      ## all methods side by side; writes the table of docs/methods.md
	@$(BIN)/python bench/methods.py

others: $(VENV)/test       ## the programs of others on one problem, each in its own environment; writes docs/comparison.md
	@$(BIN)/python bench/others.py $(OTHERS) --write

paper: $(PAPER)/paper      ## the paper's experiments, tables and figures; hours, but it goes on where it stopped
	@for plan in paper confidence members; do $(PAPER)/bin/betarce reproduce $$plan --out results/$$plan || exit 1; done

matrix:                    ## the fast tests on every Python, with lowest and newest dependencies, as a table
	@$(PYTHON) tools/matrix.py

lowest:                    ## the fast tests with the lowest dependencies that pyproject.toml states
	@$(PYTHON) tools/matrix.py --dependencies lowest --pyarrow yes

check: format lint types test   ## what to run before a commit; CI runs it, then `make test-all` and `make lowest`

format: $(VENV)/dev        ## is the code formatted?
	@$(BIN)/ruff format --check .

lint: $(VENV)/dev          ## ruff
	@$(BIN)/ruff check .

types: $(VENV)/dev         ## mypy --strict on src
	@$(BIN)/mypy

clean:                     ## remove the virtual environment and caches
	rm -rf $(VENV) $(PAPER) $(OTHERS) build docs/gallery docs/reference/generated .matrix .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "betarce needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/core: $(VENV)/python pyproject.toml constraints.txt
	@echo "Installing betarce ..."
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/test: $(VENV)/python pyproject.toml constraints.txt
	@echo "Installing betarce with all that the tests need (torch, LightGBM, ...): some minutes ..."
	@$(INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/core

$(VENV)/docs: $(VENV)/python pyproject.toml constraints.txt
	@echo "Installing betarce with all that the documentation needs (Sphinx, torch, ...): some minutes ..."
	@$(INSTALL) --editable '.[docs]'
	@touch $@ $(VENV)/core

$(VENV)/dev: $(VENV)/python pyproject.toml constraints.txt
	@echo "Installing betarce with all development tools: some minutes ..."
	@$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/test $(VENV)/core

$(PAPER)/paper: pyproject.toml constraints.txt
	@echo "Installing betarce with all that the paper's experiments need (LightGBM, DiCE, ...): some minutes ..."
	@$(PYTHON) -m venv $(PAPER)
	@$(PAPER)/bin/python -m pip install $(PIP_OPTIONS) --editable '.[data,dice,lightgbm,plot,trees]'
	@touch $@
