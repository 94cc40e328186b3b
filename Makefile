# PYTHON makes .venv, JOBS is how many processes run the tests (here for two cores: one more than
# cores, since tests also wait), ARGS goes to the casethread command:
#   make run ARGS='--port 8080'
PYTHON ?= python3
JOBS ?= 3
EXAMPLES ?= 2000
RUNS ?= 200
KILLS ?= 300
DEATHS ?= 100
MEETINGS ?= 500
SEED ?= 1

BIN = .venv/bin
STAMP = .venv/.installed

.PHONY: help install run play test check lint format bench mutation machine chaos foreign screenshots clean

help:
	@echo 'make run      start Casethread; with no Slack tokens, the local workspace in the browser'
	@echo 'make play     play the stories in the terminal, and check how each ends'
	@echo 'make test     run the tests'
	@echo 'make check    format, lint, types, imports, tests: what CI runs'
	@echo 'make format   format the code and mend what the linter can'
	@echo 'make mutation change the code that moves money and see that the tests notice (long)'
	@echo 'make machine  let anything happen to a case, in any order, EXAMPLES times (long)'
	@echo 'make chaos    kill processes and cut connections in the middle of cases (long)'
	@echo 'make bench    CPU, bytes, Slack, scale, parked cases, as ratios: all, or ARGS=cpu (minutes)'
	@echo 'make foreign  check the local Slack and Claude by programs from npm (needs Node.js)'
	@echo 'make screenshots  take the pictures of the documents anew (needs a Chromium)'
	@echo 'make install  make .venv with everything in it (the others do this by themselves)'
	@echo 'make clean    remove .venv and caches; cases, the shop, .casethread and .env stay'

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'Casethread needs Python 3.11 or newer as $(PYTHON). Another one: make PYTHON=python3.12' >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv >/dev/null || { \
	  rm -rf .venv; \
	  echo "$(PYTHON) can't make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo 'Installing into .venv; this takes a minute'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

run: install
	@exec $(BIN)/casethread start $(ARGS)

play: install
	@exec $(BIN)/casethread play $(ARGS)

test: install
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup $(ARGS)

check: lint test

lint: install
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted. Mend with: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright --project pyproject.toml --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-logo

# Goes on where it ended; functions that changed since are tried again, and ARGS again anyway:
#   make mutation ARGS='storage.shop.ledger.x__approve*'
mutation: install
	@test -x $(BIN)/mutmut || $(BIN)/python -m pip install -qq --disable-pip-version-check \
	  -c constraints.txt -e '.[dev,mutation]'
	@rm -rf mutants/tests
	@nice $(BIN)/mutmut run --max-children $(JOBS) $(ARGS)
	@$(BIN)/mutmut results
	@$(BIN)/mutmut results --all true | awk '{ n[$$2]++ } END { dead = n["killed"] + n["timeout"]; \
	  printf "%d of %d mutants killed: %.1f %%\n", dead, NR, 100 * dead / NR }'

# A failure is printed as the shortest way to it that was found, with a seed to repeat it by:
#   make machine EXAMPLES=200 ARGS='--hypothesis-seed=1'
machine: install
	@MACHINE_EXAMPLES=$(EXAMPLES) nice $(BIN)/python -m pytest -q tests/agent/test_machine.py $(ARGS)

# The seed of a round that went wrong plays it again:
#   make chaos SEED=7 RUNS=1 KILLS=0 DEATHS=0 MEETINGS=0
chaos: install
	@$(BIN)/python -m tests.faults --runs $(RUNS) --kills $(KILLS) --deaths $(DEATHS) \
	  --meetings $(MEETINGS) --seed $(SEED)

format: install
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

# Parts by name, and --full for a whole minute of load on Slack; --write puts the tables into
# docs/performance.md:
#   make bench ARGS='cpu bytes --write'
bench: install
	@$(BIN)/python -m bench $(ARGS)

foreign: install
	@command -v npm >/dev/null || { echo 'make foreign needs Node.js 20 or newer with npm' >&2; exit 1; }
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cp tests/foreign/package.json "$$folder" \
	  && npm install --prefix "$$folder" --no-package-lock --no-audit --no-fund --silent \
	  && FOREIGN_PACKAGES="$$folder" $(BIN)/python -m pytest -v tests/foreign/check.py

screenshots: install
	@$(BIN)/python -m tests.browser.screenshots docs/screenshots

clean:
	@rm -rf .venv .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist mutants
	@find agent bench bot storage tests -name __pycache__ -type d -prune -exec rm -rf {} +
