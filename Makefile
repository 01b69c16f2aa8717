# Every target sets up what it needs: a virtualenv, the Python dependencies and the system packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SYSTEM_PACKAGES := python3-venv libegl1 libgl1-mesa-dri
TEST_PACKAGES := postgresql chromium-headless-shell=chromium-headless-shell node=nodejs npm=npm g++=g++ redis-server=redis-server \
    promtool=prometheus kubectl=kubernetes-client docker-registry=docker-registry
ENGINE_PACKAGES := dockerd=docker.io docker=docker.io debootstrap=debootstrap zstd=zstd iptables=iptables docker-compose=docker-compose
READY := $(VENV)/.ready
# of tests, on two cores: one of them waits for containers, another for a browser or for processes that it started
PROCESSES ?= 4
LAB := 0.3.320260507
LABS := $(LAB) 0.3.220241205 0.2.520230802
LAB_PYTHONS := $(PYTHON)
DEMO_READY := $(VENV)/.ready-demo
SOURCES := pyproject.toml sdk/pyproject.toml constraints.txt protos/build.py protos/nav_eval/v1/agent.proto

# Bytecode is kept even where containers forbid it: a process of ours then starts in half the time, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup hooks secrets demo test tools coverage habitat unit integration browser containers lint format bench lock audit sbom release clean

setup: $(READY)  ## install everything

$(VENV)/bin/python:
	deploy/host-packages.sh $(SYSTEM_PACKAGES)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nav-eval needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

$(READY): $(SOURCES) | $(VENV)/bin/python
	deploy/host-packages.sh $(SYSTEM_PACKAGES)
	deploy/install.sh $(BIN) --editable '.[render,export,store,s3,gateway,worker,bench,dev]' --editable './sdk[websocket]' --editable ./sdk/habitat
	touch $@ $(DEMO_READY)

$(DEMO_READY): $(SOURCES) | $(VENV)/bin/python
	deploy/host-packages.sh $(SYSTEM_PACKAGES)
	deploy/install.sh $(BIN) --editable '.[demo]' --editable ./sdk
	touch $@

hooks: $(READY)  ## format, lint and names before every commit
	$(BIN)/pre-commit install

secrets:  ## passwords of a new installation, once, into deploy/secrets
	deploy/secrets.sh

demo: $(DEMO_READY)  ## the main job, on this machine, without Docker
	$(BIN)/nav-eval demo $(ARGS)

test: tools  ## every test there is; as root also those on a private Docker engine; PROCESSES=… at once
	NAV_EVAL_LAB_PYTHON=$(CURDIR)/.labs/$(LAB)/bin/python $(BIN)/pytest --numprocesses $(PROCESSES) --dist loadgroup $(ARGS)

# Machine code, and the bytecode of tests, are made while packages come, once, and not by every process of the tests.
tools: $(READY)  ## what tests need beside the libraries: services, a browser, an engine, torch, habitat-lab
	{ $(BIN)/python deploy/docker/simulator/warm_up.py && $(BIN)/python tests/support/kernels.py; } & kernels=$$!; $(BIN)/pytest --collect-only --quiet >/dev/null 2>&1 & \
	    deploy/host-packages.sh $(TEST_PACKAGES) && \
	    { [ "$$(id -u)" -ne 0 ] || deploy/host-packages.sh $(ENGINE_PACKAGES); } && \
	    { $(BIN)/python -c 'from importlib.util import find_spec as find; raise SystemExit(not (find("rerun") and find("torch")))' || \
	        INSTALLER=pip deploy/install.sh $(BIN) --quiet --no-compile --editable '.[learn,rerun]'; } && \
	    tests/integration/habitat/install_lab.sh .labs/$(LAB) $(LAB) && wait $$kernels && { wait || true; }

coverage:  ## the same, and which lines nobody ran: it takes longer
	$(MAKE) test ARGS="--cov --cov-report=term $(ARGS)"

habitat: $(READY)  ## the real habitat-lab, every version that we promise: its scores and ours on the same actions; LAB_PYTHONS='python3.12 …'
	for lab in $(LABS); do for python in $(LAB_PYTHONS); do \
	    folder=.labs/$$lab$$([ $$python = $(PYTHON) ] || echo "-$${python##*/}") && \
	    tests/integration/habitat/install_lab.sh $$folder $$lab $$python && \
	    echo "habitat-lab $$lab, $$($$folder/bin/python -V)" && \
	    $(BIN)/python tests/integration/habitat/lab_comparison.py $$folder/bin/python $(ARGS) || exit 1; done; done

unit: $(READY)  ## the everyday loop: under a minute
	$(BIN)/pytest tests/unit --numprocesses 2 --hypothesis-profile everyday -m 'not integration and not browser and not docker and not slow' $(ARGS)

integration: $(READY)  ## processes and services: databases, queues, agents, documented commands
	deploy/host-packages.sh $(TEST_PACKAGES)
	$(BIN)/pytest tests/integration --numprocesses $(PROCESSES) --dist loadgroup -m 'not browser and not docker' $(ARGS)

browser: $(READY)  ## pages in a real Chromium
	deploy/host-packages.sh $(TEST_PACKAGES)
	$(BIN)/pytest tests -m browser --numprocesses $(PROCESSES) --dist loadgroup $(ARGS)

containers: $(READY)  ## those on a private Docker engine (root)
	deploy/host-packages.sh $(TEST_PACKAGES) $(ENGINE_PACKAGES)
	$(BIN)/pytest tests/containers $(ARGS)

lint: $(READY)  ## style, types, import directions, names
	! git grep --line-number -E '^(<<<<<<<|>>>>>>>) '  # left by a merge
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/lint/naming.py

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## ratios in one run, written to bench/results.json
	$(BIN)/python -m bench $(ARGS)

lock: $(READY)  ## versions and hashes of all libraries; ARGS=--upgrade takes newer ones
	deploy/lock.sh $(BIN) $(ARGS)

audit: $(READY)  ## known vulnerabilities of what the images install; ADVISORIES=all.zip where PyPI does not say
	$(BIN)/python deploy/release/audit.py deploy/docker/locks/*.txt $(if $(ADVISORIES),--database $(ADVISORIES))

sbom: $(READY)  ## CycloneDX documents of the images' Python libraries, in dist/sbom
	for image in gateway simulator agent; do $(BIN)/python deploy/release/sbom.py deploy/docker/locks/$$image.txt \
	    dist/sbom/nav-eval-$$image.cdx.json --name nav-eval-$$image --version "$$($(BIN)/python -c 'import nav_eval; print(nav_eval.__version__)')" || exit 1; done

release: $(READY)  ## audited images on BASE=NAME@sha256:…, each with its CycloneDX document
	deploy/release/release.sh "$(BASE)" $(ADVISORIES)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache htmlcov
