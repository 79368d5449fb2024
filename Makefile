# What people type. Everything runs in .venv, which `make` builds from the hashed lock when it must.
# A copy may come without some of the folders: what is not here is not looked for.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Named by the content of what it was made from: with an unchanged lock there is nothing to do, whatever
# the times of the files say; and it is made last, so an interrupted installation is done again.
MADE_OF := requirements.lock pyproject.toml
# copy: never {
# The tools are distributions of their own, each with settings for mypy, the auditor with its own for pytest.
TOOLS := $(patsubst %/pyproject.toml,%,$(wildcard tools/*/pyproject.toml))
CHECK := $(filter tools/check,$(TOOLS))
MADE_OF += $(addsuffix /pyproject.toml,$(TOOLS))
# copy: }
STAMP := $(VENV)/.made-of-$(shell cat $(MADE_OF) | cksum | tr ' ' '-')
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

# The packages that are here, for mypy.
PACKAGES := $(wildcard access contract service connect migrations spark extras ops tests)
UNIT_TESTS := $(wildcard extras/*/tests/unit tests/unit)
UNIT_TESTS += $(wildcard tools/lab/tests/unit) # copy: never

# Lanes run side by side, since each mostly waits. Each has stacks of its own; the containers are apart.
COMPOSE_OF_EXTRAS := $(wildcard extras/*/tests/compose)
LAKE := $(wildcard tests/spark tests/secured extras/*/tests/spark)
LANES := test-together $(if $(LAKE),test-lake)
BESIDE := $(LAKE)
# copy: never {
# What has a stack of its own comes first: the shared one, once it is up, is up to the end.
APART := $(UNIT_TESTS) tests/laws tests/copy tests/integration/test_extras.py tests/integration/test_upgrade.py
APART += $(addprefix tools/lab/tests/e2e/test_,faults.py ladder.py)
APART += $(addprefix tests/e2e/test_,guard.py page.py parking.py refusals.py repair.py resend.py spans.py)
APART += $(addprefix tools/lab/tests/integration/test_,check_live.py dedup_alone.py dedup_machine.py dedup_matrix.py dynamodb.py)
# Of the lake's, so that no lane is much longer than the others.
FROM_LAKE := $(addprefix tests/spark/test_,old_runs.py retention.py)
LANES += test-apart $(if $(CHECK),test-check)
BESIDE += $(APART)
# copy: }

# A test that hangs ends its lane within a quarter of an hour, and shows where each thread waits.
LANE := $(BIN)/pytest -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

# Run tests below the others in priority, on other ports, and show in the end what they said:
# $(call beside,name,distance of the ports,tests)
define beside
@mkdir -p .run
@echo "beside the others: $(3); see .run/$(1).log"
@TEST_RUN=$(1) TEST_PORTS=$$(($${TEST_PORTS:-15500} + $(2))) nice $(LANE) --durations=8 $(3) >.run/$(1).log 2>&1; \
  code=$$?; cat .run/$(1).log; exit $$code
endef

.DEFAULT_GOAL := help
.PHONY: help venv test test-together test-lake unit laws lint format lock bom clean

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
	@$(if $(TOOLS),$(BIN)/python -m pip install -q --no-deps --no-build-isolation $(addprefix -e ./,$(TOOLS))) # copy: never
	@touch $@

lint: venv ## ruff, mypy and the import rules, for every distribution that is here
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy $(addprefix -p ,$(PACKAGES))
	@for tool in $(TOOLS); do (cd $$tool && $(CURDIR)/$(BIN)/mypy) || exit 1; done # copy: never
	@$(BIN)/lint-imports

unit: venv ## the tests that need no process
	@$(if $(CHECK),cd $(CHECK) && $(CURDIR)/$(BIN)/pytest --ignore=tests/clients --ignore=tests/test_pre_commit.py) # copy: never
	@$(BIN)/pytest $(UNIT_TESTS)

laws: venv ## the business rule: redelivered, killed at each step, in conflict, in company; on a Postgres of its own
	@$(BIN)/pytest --tb=short tests/laws

test: venv ## everything, on real parts; the containers apart
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory -j$(words $(LANES)) $(LANES)

test-together: venv
	@$(LANE) --durations=8 $(addprefix --ignore=,tests/compose $(COMPOSE_OF_EXTRAS) $(BESIDE))

test-lake: venv
	$(call beside,test-lake,900,$(LAKE) $(addprefix --ignore=,$(FROM_LAKE)))

# copy: never {
.PHONY: test-apart test-check
test-apart: venv
	$(call beside,test-apart,300,$(APART) $(FROM_LAKE))

test-check: venv
	$(call beside,test-check,1200,-c $(CHECK)/pyproject.toml $(CHECK))

# copy: }
# copy: with ops {
.PHONY: test-compose
test-compose: venv ## the same pipeline on containers (needs Docker)
	@$(LANE) tests/compose $(COMPOSE_OF_EXTRAS)
# copy: }

format: venv ## let ruff fix what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

COMPILE := uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11
LOCKED := pyproject.toml
# The lab needs nothing but the other two, which no registry has; copy: never
LOCKED += $(addsuffix /pyproject.toml,$(CHECK)) # copy: never

lock: ## resolve the packages again (needs uv)
	@command -v uv >/dev/null || { echo "uv makes the lock: install it (pipx install uv)" >&2; exit 1; }
	$(COMPILE) --all-extras --upgrade $(LOCKED) -o requirements.lock
	@# What goes into the images: fewer packages, and no version but those above.
	$(COMPILE) --extra service --extra otlp -c requirements.lock pyproject.toml -o service/requirements.lock
	$(COMPILE) --extra service --extra spark --extra ops --extra otlp -c requirements.lock pyproject.toml -o spark/requirements.lock

# The version is the tool's alone: it is in an environment of its own, and in no image.
BOM := .run/bom
CYCLONEDX := cyclonedx-bom==7.5.0
BOM_OF_JARS := mvn -B -q -C org.cyclonedx:cyclonedx-maven-plugin:2.9.1:makeBom -DoutputFormat=json -DincludeProvidedScope=false -DoutputDirectory=$(CURDIR)/$(BOM)

bom: ## bills of materials (CycloneDX) of packages and jars, in .run/bom; the base images have their own
	@mkdir -p $(BOM)
	@$(PYTHON) -m venv $(BOM)/tool && $(BOM)/tool/bin/pip install -q $(CYCLONEDX)
	@for lock in requirements.lock service/requirements.lock spark/requirements.lock; do \
	  $(BOM)/tool/bin/cyclonedx-py requirements $$lock --of JSON -o $(BOM)/python-$$(dirname $$lock | tr -d .).json; done
	@$(BOM_OF_JARS) -f spark/pom.xml -DoutputName=jars-spark
	@$(BOM_OF_JARS) -f spark/bucket/pom.xml -DoutputName=jars-bucket
	@$(BOM_OF_JARS) -f connect/pom.xml -Pworker -DoutputName=jars-connect-worker
	@$(BOM_OF_JARS) -f connect/pom.xml -Pplugin -DoutputName=jars-connect-plugin
	@mv $(BOM)/python-.json $(BOM)/python.json && ls $(BOM)/*.json

# copy: with ops {
# demo, up, down, status
include $(wildcard ops/*.mk)
# copy: }
# copy: never {
# bench, prove
include $(wildcard tools/*/*.mk)
# copy: }

clean: ## stop the stack and remove all that was made here
	@test ! -x $(BIN)/pipeline -o ! -d ops || $(BIN)/pipeline down
	rm -rf .run $(VENV) *.egg-info tools/*/src/*.egg-info
	find . -name .mypy_cache -o -name .ruff_cache -o -name .pytest_cache -o -name .import_linter_cache -o -name .hypothesis \
	  | xargs rm -rf
