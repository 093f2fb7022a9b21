# Every target does its own set-up. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BUDGET ?= smoke
PORT ?= 8888
# One stamp for each layer of packages: a target installs its layer once, and later starts right away.
STUDENT := $(VENV)/.installed-student
INSTRUCTOR := $(VENV)/.installed-instructor
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help lab test test-all run build check lint colab-check pins bench demo pictures site site-outputs clean system

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

lab: $(STUDENT)  ## open the course in JupyterLab
	@$(BIN)/python tools/open_lab.py --port $(PORT)

test: $(DEV) system  ## run the tests, as CI does
	@$(BIN)/python tools/run_tests.py

test-all: $(DEV) system  ## the same with every seed, pair of mistakes, notebook and test (takes longer)
	@$(BIN)/python tools/run_tests.py --all

run: $(INSTRUCTOR)  ## run every notebook, solved and as handed out (BUDGET=smoke|quick|full)
	@$(BIN)/autograder run --budget $(BUDGET) --unsolved

build: $(INSTRUCTOR)  ## build notebooks/ from autograder/source/
	@$(BIN)/autograder build

check: $(INSTRUCTOR)  ## fail if notebooks/ is not what the sources build
	@$(BIN)/autograder build --check

lint: $(DEV)  ## ruff, formatting included
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

colab-check: $(INSTRUCTOR)  ## run the student notebooks with the versions that Colab has
	@$(BIN)/python tools/colab_check.py

pins: $(DEV)  ## rewrite constraints.txt (UPGRADE=1 takes the newest versions)
	@$(BIN)/python tools/pin.py $(if $(UPGRADE),--upgrade)

bench: $(DEV)  ## print the measured figures (takes long)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

demo: $(INSTRUCTOR) system  ## make and grade a class to try the grader on
	@$(BIN)/autograder demo

pictures: $(DEV) system  ## make the pictures of the README and the guides again
	@$(BIN)/python tools/pictures.py

site: $(DEV)  ## build the site into artefacts/site, with the stored outputs
	@$(BIN)/python -m tools.make_site

site-outputs: $(DEV)  ## run the notebooks for the site and store their outputs (takes about an hour)
	@$(BIN)/python -m tools.site_outputs

clean:  ## remove the environments and what tests left
	rm -rf $(VENV) .venv-colab artefacts .pytest_cache .hypothesis .ruff_cache

system:
	@$(PYTHON) tools/system_packages.py

$(VENV)/.installed-%: pyproject.toml constraints.txt tools/install.py tools/environment.py
	@$(PYTHON) tools/install.py --layer $* $(VENV)
