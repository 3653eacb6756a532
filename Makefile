# Two commands: `make bench` runs the comparison, `make test` every check.
# Both need Python 3.11 or 3.12 and a C compiler; everything else is set up in this folder.

PYTHON ?= python3
TOX := .venv/bin/tox
# Environments that use one core most of the time, two at once; one that fails shows all it printed.
# Those that keep both cores busy, or hold a page to its time, run alone.
PAIRED := $(TOX) run-parallel --parallel 2 --parallel-no-spinner
# While a command is silent, the time is told every 20 seconds.
TOLD := .ci/told
# Knobs for the run, e.g. make bench ARGS="--scale 1 --reader hudi-rs"
ARGS ?=
# pyspark comes as source only: built once here, not once more for each environment.
WHEELS := .venv/wheels
export UV_FIND_LINKS ?= $(wildcard $(CURDIR)/$(WHEELS))

.PHONY: bench test beyond nightly all wheels docs clean help

help:  ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

bench: $(TOX)  ## generate data, run the comparison, check every answer, build the page
	@echo 'setting up .tox/bench: packages are fetched the first time, then data are made'
	$(TOLD) $(TOX) run -q -e bench $(if $(ARGS),-- $(ARGS))

test: $(TOX)  ## lint, types, C tests, Python tests, quick conformance
	@echo 'setting up environments below .tox: packages are fetched the first time'
	failed=0; $(TOLD) $(PAIRED) -e native,types,lint,bare,alone || failed=1; \
	$(TOLD) $(TOX) run -e conformance,tests || failed=1; exit $$failed

beyond: $(TOX)  ## what needs engines, a browser or the history: Spark, a JVM, an object store, the page, asv
	failed=0; $(TOLD) $(PAIRED) -e spark,history,jvm,storage || failed=1; \
	$(TOLD) $(TOX) run -e site || failed=1; exit $$failed

nightly: $(TOX)  ## all that takes hours, and what changed since it last ran; make nightly ARGS="--only damage-*"
	$(if $(ARGS),,$(TOLD) $(TOX) run -q -e oldest,oldest-tests)
	$(TOLD) $(TOX) run -q -e nightly $(if $(ARGS),-- $(ARGS))

all: test beyond  ## everything CI runs

wheels: $(TOX)  ## what others install, into dist/; make wheels ARGS="3.12 3.13" tries it in these Pythons
	$(TOLD) $(TOX) run -q -e wheels $(if $(ARGS),-- $(ARGS))

docs: $(TOX)  ## the documentation as a site, into build/docs
	$(TOLD) $(TOX) run -q -e docs

$(TOX): requirements-tox.txt pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q -r requirements-tox.txt
	.venv/bin/python -m pip wheel -q --no-deps -w $(WHEELS) $$(grep -o 'pyspark==[0-9.]*' pyproject.toml)
	@touch $(TOX)

clean:  ## forget everything that was set up or built; data and results stay
	rm -rf .venv .tox .asv build site
