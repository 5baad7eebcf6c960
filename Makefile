# Needs make and a Python from 3.11 on, nothing else. Each target makes the environment that it needs.
#
#   ARGS=...     is passed on, as in `make check ARGS=reference-trio`
#   PYTHON=...   makes a new environment with this interpreter; one that exists stays as it is
#   VENV=...     is where the environment lives

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# Two targets of one run must not make the same environment at once.
.NOTPARALLEL:

# Not `?=`: a VENV that the shell happens to export is not ours to fill.
VENV = .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# A name on PATH proves little (a version manager's shim exists and fails), so candidates are run.
WORKS = -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
CANDIDATES = $(or $(PYTHON),python3.13 python3.12 python3.11 python3)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# --- environments ---------------------------------------------------------------------------------

# Stamps: made last, so an install that was interrupted is done again.
RUN := $(VENV)/.run
DEV := $(VENV)/.dev

# An environment holds absolute paths: one that came along with a copied or moved checkout would run
# the code of the old place, so it is made anew.
HERE = [ "$$(cat $(VENV)/.home 2>/dev/null || pwd -P)" = "$$(pwd -P)" ]
$(RUN) $(DEV): $(shell $(HERE) || echo moved)
.PHONY: moved

# An environment is whole once pip's own record is written, which venv does last.
WHOLE = $(BIN)/python -c 'import importlib.metadata as m, sys; sys.exit(not m.files("pip"))' 2>/dev/null

ENSURE_VENV = \
	if ! { $(BIN)/python $(WORKS) && $(WHOLE) && $(HERE); }; then \
		found=; \
		for python in $(CANDIDATES); do \
			if $$python $(WORKS); then found=$$python; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "error: no Python >= 3.11 with venv and ensurepip works here (tried: $(CANDIDATES)); name one with PYTHON=..." >&2; \
			exit 1; \
		fi; \
		echo "making $(VENV) with $$($$found --version)"; \
		if [ -e $(VENV)/pyvenv.cfg ]; then clear=--clear; else clear=; fi; \
		$$found -m venv $$clear $(VENV) || exit 1; \
	fi; \
	pwd -P >$(VENV)/.home

INSTALL = \
	$(PIP) install --quiet --require-hashes --requirement $(1) && \
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .

$(RUN): pyproject.toml requirements/run.txt
	@$(ENSURE_VENV)
	@$(call INSTALL,requirements/run.txt)
	@touch $@

$(DEV): pyproject.toml requirements/run.txt requirements/dev.txt
	@$(ENSURE_VENV)
	@$(call INSTALL,requirements/dev.txt)
	@touch $(RUN) $@

# --- what people run ------------------------------------------------------------------------------

.PHONY: check
check: $(RUN) ## Check a backend against the model (ARGS=BACKEND, the reference by default)
	@$(BIN)/probate check $(ARGS)

.PHONY: test
test: lint backends pytest ## Lint, then test with branch coverage

.PHONY: lint
lint: $(DEV) ## Check style, types and the walls between the packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Many tests wait for a child of theirs, so there is one worker more than a small machine has processors.
WORKERS = 3

.PHONY: pytest
pytest: $(DEV)
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal --cov --cov-report=term $(ARGS)

.PHONY: pytest-all
pytest-all: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: test-all
test-all: plug-ins ## Run all tests, slow ones too, on each supported Python found here
	@found=; missing=; failed=; \
	for version in $(VERSIONS); do \
		python=; \
		for candidate in python$$version "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python$$version; do \
			if "$$candidate" $(WORKS); then python=$$candidate; break; fi; \
		done; \
		if [ -z "$$python" ]; then missing="$$missing $$version"; continue; fi; \
		found="$$found $$version"; \
		echo "=== Python $$version ==="; \
		$(MAKE) pytest-all VENV=.venv-$$version PYTHON="$$python" || failed="$$failed $$version"; \
	done; \
	echo "tested:$${found:- none}; not found here:$${missing:- none}; failed:$${failed:- none}"; \
	[ -n "$$found" ] && [ -z "$$failed" ]

VERSIONS := 3.11 3.12 3.13

.PHONY: backends
backends: $(DEV) ## Install the foreign runtimes that the tests drive
	@$(BIN)/probate backends install dsh
	@$(BIN)/probate backends install ph-core || [ $$? -eq 5 ] # it needs a Python that may not be here
	@$(BIN)/python -m tests.peers.install

# Each runs in a Python of its own; where there is none, it is reported as not run.
.PHONY: plug-ins
plug-ins: $(DEV)
	@for name in $(PLUG_INS); do $(BIN)/probate backends install $$name || [ $$? -eq 5 ] || exit 1; done

.PHONY: bench
bench: $(DEV) backends ## Measure the kit and the reference beside their peers (ARGS=--quick for a look)
	@$(BIN)/python -m bench $(ARGS)

COMPILED := build/compiled

.PHONY: compiled
compiled: $(COMPILED)/.made ## Compile the model into build/compiled, for long checks (needs a C compiler)

$(COMPILED)/.made: $(DEV) model/compile.py $(shell find model/probate_model -name '*.py')
	@echo "compiling the model into $(COMPILED), which takes a minute"
	@$(BIN)/python model/compile.py $(COMPILED)
	@touch $@

.PHONY: spin
spin: $(DEV) ## Have SPIN search the small core too, and compare (needs the programs spin and gcc)
	@$(BIN)/python -m tests.spin

# --- upkeep ---------------------------------------------------------------------------------------

# Compiled with the oldest Python that we support; `make test-all` shows that the locks fit the others.
COMPILE = CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/pip-compile --quiet --generate-hashes \
	--allow-unsafe --strip-extras --build-deps-for=editable --no-emit-options

.PHONY: lock
lock: ## Write requirements/ anew from pyproject.toml (ARGS=--upgrade for newer versions)
	@$(MAKE) -s .venv-lock/.ready VENV=.venv-lock PYTHON="$(or $(PYTHON),python3.11)"
	$(COMPILE) $(ARGS) --output-file=requirements/run.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra=dev --constraint=requirements/run.txt --output-file=requirements/dev.txt pyproject.toml

.venv-lock/.ready:
	@$(ENSURE_VENV)
	@$(PIP) install --quiet pip-tools
	@touch $@

.PHONY: docs
docs: $(RUN) ## Write the generated pages and pictures of docs/ anew
	@$(BIN)/python -m probate_conformance.docs docs

.PHONY: reports
reports: plug-ins ## Check the foreign backends that have no report in build/reports/, and write docs/backends/ (ARGS=CASES)
	@$(BIN)/python -m probate_conformance.docs.backends build/reports docs/backends $(ARGS)
	@for name in $(PLUG_INS); do \
		rm -rf build/cases; \
		$(BIN)/probate check $$name --profile fibers --cases 100 -j 1 --no-color --cases-dir build/cases \
			> build/report.txt; code=$$?; [ $$code -ne 5 ] || continue; [ $$code -lt 4 ] || exit 1; \
		rm -f docs/backends/cases/$$name-*-seed0.json; cp build/cases/*.json docs/backends/cases/; \
		tail -n +3 build/report.txt | sed 's#build/cases#cases#' > docs/backends/$$name.txt; \
	done

PLUG_INS := cordis-python cordispy cordis-ouroboros deepseek-cordis pi-cordis-py cordis-port pycardia python-cordis anvilcore

.PHONY: clean
clean: ## Remove environments, caches and builds
	rm -rf .venv .venv-* build dist htmlcov .coverage .coverage.* \
		.mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find model reference conformance tests -name __pycache__ -type d -prune -exec rm -rf {} +
