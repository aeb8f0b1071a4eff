# Every target sets up .venv when it must. `make` alone lists them.
PYTHON ?= python3
SUBMISSION ?= handout
VENV := .venv
READY := $(VENV)/ready
RUN := $(VENV)/bin/python -m autograder
CHOSEN = $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

.DEFAULT_GOAL := help
.PHONY: help grade debug test check format handout audit wheel bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 10

grade: $(READY) ## grade a submission: SUBMISSION=handout ONLY=1.4 SEED=7
	@$(RUN) grade $(SUBMISSION) $(CHOSEN)

debug: $(READY) ## step through the case that fails: SUBMISSION=handout ONLY=1.4
	@$(RUN) debug $(SUBMISSION) $(CHOSEN)

test: $(READY) ## the kit's own tests
	@$(VENV)/bin/python -m pytest -q -n auto --dist loadfile

check: $(READY) ## format, lint and types
	@$(VENV)/bin/ruff format --check . && $(VENV)/bin/ruff check . && $(VENV)/bin/mypy

format: $(READY) ## put the sources into the one format
	@$(VENV)/bin/ruff format . && $(VENV)/bin/ruff check --fix .

handout: $(READY) ## make the students' stubs and recorded answers from the solutions
	@$(VENV)/bin/python solutions/notebook.py handout/napkin_math.ipynb
	@$(VENV)/bin/python solutions/notebook.py solutions/napkin_math.ipynb --answered
	@$(VENV)/bin/python solutions/figures.py handout/figures
	@$(RUN) handout && cp constraints.txt handout/

audit: $(READY) ## prove the checks: grade every known right and wrong solution: ONLY=1 SEED=7
	@$(RUN) audit $(CHOSEN)

wheel: $(READY) ## the grader as a wheel in dist/, for an unpacked handout
	@$(VENV)/bin/pip wheel -q --no-deps --wheel-dir dist .

bench: $(READY) ## what isolation costs, as ratios in one run
	@$(VENV)/bin/python tests/bench.py

clean: ## remove everything that was made
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@
