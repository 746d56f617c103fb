# `make demo` and `make test` need nothing but Python 3.11+ with venv; everything lands in .venv.

PYTHON ?= python3
TORCH ?= torch==2.13.0
DEMO_MODEL := qwen2.5-coder-0.5b
DEMO_TASK := examples/demo.yaml

BIN := .venv/bin
STAMPS := .venv/.stamps
# -qq hides warnings about package folders that a machine does not have; errors still show.
PIP_LOUD := $(BIN)/python -m pip install --disable-pip-version-check --no-input
PIP := $(PIP_LOUD) -qq
NATIVE := $(wildcard src/armillary/kernels/native/*.cpp src/armillary/kernels/native/*.hpp)

.PHONY: help demo test check install lock pages clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    install, fetch a small model, solve and verify one real task"
	@echo "make test    install, run all tests"
	@echo "make check   install, run format, lint, types and architecture checks"
	@echo "make lock    pin the requirements again after pyproject.toml changed"
	@echo "make pages   write the generated tables again, after a benchmark ran or a file came"
	@echo "make clean   remove .venv and everything built"

demo: install
	@$(BIN)/armillary pull $(DEMO_MODEL)
	@$(BIN)/armillary solve $(DEMO_TASK)

test: install
	@$(BIN)/armillary pull smollm2-135m
	@$(BIN)/python -m pytest

check: install
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/python tools/claims.py --check
	@$(BIN)/python tools/file_map.py --check
	@$(BIN)/python -m pytest -q tests/architecture --ignore=tests/architecture/test_startup.py

install: $(STAMPS)/package

$(STAMPS)/venv:
	@bash tools/make_venv.sh $(PYTHON)
	@mkdir -p $(STAMPS)
	@touch $@

# The stamp holds what was installed: another value of TORCH makes it old, and all that follows from it.
ifneq ($(strip $(TORCH)),$(shell cat $(STAMPS)/torch 2>/dev/null))
.PHONY: $(STAMPS)/torch
endif

$(STAMPS)/torch: $(STAMPS)/venv
	@echo "Installing $(TORCH): the largest part, a few minutes on a slow line ..."
	@$(PIP_LOUD) "$(TORCH)"
	@echo "$(TORCH)" > $@

$(STAMPS)/lock: requirements/lock.txt $(STAMPS)/torch
	@echo "Installing the locked requirements ..."
	@$(PIP) --require-hashes -r requirements/lock.txt
	@touch $@

$(STAMPS)/package: pyproject.toml setup.py $(NATIVE) $(STAMPS)/lock
	@echo "Installing armillary and building its native kernels ..."
	@rm -f src/armillary/kernels/_native*.so
	@$(PIP) --no-deps --no-build-isolation -e .
	@ls src/armillary/kernels/_native*.so >/dev/null 2>&1 || \
		echo "note: no native kernels (is there a C++ compiler?): the slower eager ones are used"
	@touch $@

lock: $(STAMPS)/lock
	@$(BIN)/python tools/lock.py

pages: install
	@$(BIN)/python tools/claims.py
	@$(BIN)/python tools/file_map.py

clean:
	rm -rf .venv build src/*.egg-info src/armillary/kernels/_native*.so
