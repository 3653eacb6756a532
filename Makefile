# Two commands: `make bench` runs the comparison, `make test` every check.
# Both need Python 3.11 or 3.12 and a C compiler; everything else is set up in this folder.

PYTHON ?= python3
TOX := .venv/bin/tox
# Knobs for the run, e.g. make bench ARGS="--scale 1 --reader hudi-rs"
ARGS ?=

.PHONY: bench test all clean help

help:  ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

bench: $(TOX)  ## generate data, run the comparison, check every answer, build the page
	$(TOX) run -q -e bench -- $(ARGS)

test: $(TOX)  ## lint, types, C tests, Python tests, quick conformance
	$(TOX) run -e lint,types,native,tests,conformance

all: $(TOX)  ## everything CI runs: the tests, Spark, the page in a browser, asv
	$(TOX) run -e lint,types,native,tests,conformance,spark,storage,site,history

$(TOX): requirements-tox.txt
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q -r requirements-tox.txt
	@touch $(TOX)

clean:  ## forget everything that was set up or built; data and results stay
	rm -rf .venv .tox .asv build site
