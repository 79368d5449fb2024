# What people type. Everything runs in .venv, which `make` builds from the hashed lock when it must.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Named by the content of what it was made from: with an unchanged lock there is nothing to do, whatever
# the times of the files say; and it is made last, so an interrupted installation is done again.
MADE_OF := requirements.lock pyproject.toml
# copy: never {
# The tools are distributions of their own; a copy of the template comes without them.
TOOLS := $(patsubst %/pyproject.toml,./%,$(wildcard tools/*/pyproject.toml))
MADE_OF += $(wildcard tools/*/pyproject.toml)
# copy: }
STAMP := $(VENV)/.made-of-$(shell cat $(MADE_OF) | cksum | tr ' ' '-')
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.PHONY: help venv test unit lint format lock clean
.PHONY: demo test-compose up down status # copy: with ops
.PHONY: prove bench # copy: never

help: ## show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## make .venv, or bring it up to date

$(STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || \
	  { echo "$(PYTHON) is not a Python 3.11 to 3.13: install one and say make PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make environments: install its venv module (apt install python3-venv)" >&2; exit 1; }
	@ls $(VENV)/.made-of-* >/dev/null 2>&1 || rm -rf $(VENV)
	@rm -f $(VENV)/.made-of-*
	@echo "install the locked packages in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation $(addprefix -e ,$(TOOLS)) # copy: never
	@touch $@

# copy: with ops {
demo: venv ## the whole way of 5,000 orders, from nothing to a verdict
	@$(BIN)/pipeline demo
# copy: }

test: venv ## everything, on real parts
	@$(BIN)/lint-imports
	@for tool in $(filter ./tools/check,$(TOOLS)); do (cd $$tool && $(CURDIR)/$(BIN)/pytest) || exit 1; done # copy: never
	@$(BIN)/pytest --ignore=tests/compose

# copy: with ops {
test-compose: venv ## the same pipeline on containers (needs Docker)
	@$(BIN)/pytest tests/compose
# copy: }

# copy: never {
prove: venv ## every cell of the ladder and the dedup matrix, and ten times as many stories as `make test`
	@PROVE=1 $(BIN)/pytest tools/lab/tests/integration/test_dedup_matrix.py tools/lab/tests/integration/test_dedup_machine.py tools/lab/tests/e2e/test_ladder.py

# copy: }
unit: venv ## the tests that need no process
	@$(BIN)/pytest $(wildcard extras/*/tests/unit) tests/unit
	@$(BIN)/pytest tools/lab/tests/unit # copy: never

lint: venv ## ruff, mypy and the import rules
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@for tool in $(TOOLS); do (cd $$tool && $(CURDIR)/$(BIN)/mypy) || exit 1; done # copy: never
	@$(BIN)/lint-imports

format: venv ## let ruff mend what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

COMPILE := uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11

lock: ## resolve the packages anew (needs uv)
	@command -v uv >/dev/null || { echo "uv makes the lock: install it (pipx install uv)" >&2; exit 1; }
	$(COMPILE) --all-extras --upgrade pyproject.toml -o requirements.lock
	@# What goes into the images: less packages, and no version but those above.
	$(COMPILE) --extra service -c requirements.lock pyproject.toml -o service/requirements.lock
	$(COMPILE) --extra service --extra spark --extra ops -c requirements.lock pyproject.toml -o spark/requirements.lock

# copy: with ops {
up: venv ## start the embedded stack and leave it running
	@$(BIN)/pipeline up

down: venv ## stop it
	@$(BIN)/pipeline down

status: venv ## show how each part does
	@$(BIN)/pipeline status

# copy: }
# copy: never {
bench: venv ## measure speed and cost
	@$(BIN)/pipeline bench

# copy: }
clean: ## stop the stack and remove all that was made here
	@test ! -x $(BIN)/pipeline || $(BIN)/pipeline down
	rm -rf .run $(VENV) *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
