# Polyfabric. Every target sets up what it needs on a machine with stable Rust, Python 3.11 or newer and a C compiler.
#
#   make demo         the main job: an encrypted digit, classified by Morphling's schedule and by your CPU
#   make test         everything that must hold: lint, all Rust tests, all Python tests
#   make lint         formatting, warnings and documentation warnings only
#   make bench        bootstrapping side by side with tfhe-rs; BENCH_ARGS="--quick" for a short one
#   make bench-check  the benchmark's programs on small batches, both sides: are the results right? No times
#   make reproduce    the published figures of Morphling beside the model's
#   make install      just .venv/bin/polyfabric
#   make clean        remove what was built

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BENCH_ARGS ?=

# rustup's default place, for shells that have not read its environment file.
export PATH := $(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates machines figures -name '*.rs' -o -name '*.toml')

.PHONY: help demo test lint lint-rust lint-python test-rust test-python bench bench-check reproduce install check-tools clean

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

check-tools:
	@PYTHON=$(PYTHON) scripts/check-tools

$(VENV)/.requirements: requirements.txt | check-tools
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement requirements.txt
	@touch $@

# The Python files are used in place; only a change of the Rust half builds again.
$(VENV)/.installed: $(VENV)/.requirements $(RUST_SOURCES) | check-tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --release --locked
	@touch $@

install: $(VENV)/.installed

demo: install
	$(VENV)/bin/polyfabric run digits --on morphling
	$(VENV)/bin/polyfabric run digits --on cpu

reproduce: install
	$(VENV)/bin/polyfabric reproduce morphling

test: lint test-rust test-python

test-rust: | check-tools
	cargo test --workspace --locked

test-python: install
	$(VENV)/bin/python -m pytest

lint: lint-rust lint-python

lint-rust:
	@PYTHON=$(PYTHON) scripts/check-tools lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked

lint-python: $(VENV)/.requirements
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

bench: | check-tools
	cd bench && cargo run --release --locked -- --output ../bench-results/tfhe.json $(BENCH_ARGS)

bench-check: | check-tools
	cd bench && cargo run --profile untimed --locked -- --check

clean:
	rm -rf target bench/target $(VENV) bench-results reports dist
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/polyfabric/_native*.so
