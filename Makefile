# Every target does its own set-up. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BUDGET ?= smoke
PORT ?= 8888
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help lab test run build check lint colab-check bench demo pictures clean system

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

lab: $(STAMP)  ## open the course in JupyterLab
	@$(BIN)/python tools/open_lab.py --port $(PORT)

test: $(STAMP) system  ## run all tests, as CI does
	@$(BIN)/python tools/run_tests.py

run: $(STAMP)  ## run every notebook, solved and as handed out (BUDGET=smoke|quick|full)
	@$(BIN)/autograder run --budget $(BUDGET) --unsolved

build: $(STAMP)  ## build notebooks/ from autograder/source/
	@$(BIN)/autograder build

check: $(STAMP)  ## fail if notebooks/ is not what the sources build
	@$(BIN)/autograder build --check

lint: $(STAMP)  ## ruff, formatting included
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

colab-check: $(STAMP)  ## run the student notebooks with the versions that Colab has
	@$(BIN)/python tools/colab_check.py

bench: $(STAMP)  ## print the measured figures (takes long)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

demo: $(STAMP) system  ## make and grade a class to try the grader on
	@$(BIN)/autograder demo

pictures: $(STAMP) system  ## make the pictures of the README and the guides anew
	@$(BIN)/python tools/pictures.py

clean:  ## remove the environments and what tests left
	rm -rf $(VENV) .venv-colab artefacts .pytest_cache .hypothesis .ruff_cache

system:
	@$(PYTHON) tools/system_packages.py

# pip shows its progress; the stamp makes the second time quick.
$(STAMP): pyproject.toml constraints.txt tools/install.py
	@$(PYTHON) tools/install.py $(VENV)
	@touch $(STAMP)
