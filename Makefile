# The commands that the README describes. All build output stays in this folder: .venv (Python),
# target (Rust), report (the output of the demo), dist (the wheel).
#
#   make demo [TRACE=FILE] [RUNS=N]   compare start-ups over a satellite link and an LTE link
#   make test                         run every check except those of test-kernel
#   make snapshots                    rewrite the tables of results after an intended change
#   make test-kernel                  test the programs in bpf/ in this kernel (needs root)
#   make quiche                       build quiche as a worker for --stack (some minutes)
#   make picoquic PICOQUIC=DIR        build picoquic from its source in DIR, with our start-ups in it
#   make quicly QUICLY=DIR            the same for quicly
#   make s2n-quic                     build the example of slowstart-s2n-quic, and send 5 MB with it
#   make real                         install with quinn in real time (--stack quinn --clock real)
#   make freebsd                      compile freebsd/cc_search.c for FreeBSD, through zig
#   make guest                        build the program for slowstart --stack linux-vm (x86-64);
#                                     the next make demo or make test installs it
#   make explorable                   build the page that runs the simulator in a browser
#   make site [REPOSITORY=URL]        build the documentation as a site in target/site/html
#   make man                          write manual pages to dist/man
#   make wheel [PGO=yes|no]           build the wheel in dist with profile-guided optimization
#   make wheels                       build wheels for any Linux, x86-64 and aarch64, through zig
#   make bench                        packets per CPU second, peak memory, and the cost of an ACK
#   make bench BASE=COMMIT            speed of the working tree relative to a commit, alternating
#                                     (both accept SCENARIOS="S1 S3", and PGO=yes: as in the wheel)
#   make clean                        remove all build output

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := demo

PYTHON ?= python3
RUNS ?= 20
TRACE ?=
VENV := .venv
BIN := $(VENV)/bin
# The modules in .venv are compiled once, and not by each command.
unexport PYTHONDONTWRITEBYTECODE
# rustup installs cargo here, and a shell opened before that does not have it in its PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

ALGORITHMS := cubic+hystart cubic+hystart++ cubic+search cubic+standard
SOURCES := $(shell find crates python/slowstart bpf -type f \( -name '*.rs' -o -name '*.toml' \
	-o -name '*.py' -o -name '*.pyi' -o -name '*.j2' -o -name '*.bpf.[ch]' -o -path 'bpf/core/*.h' \) \
	2>/dev/null) Cargo.toml Cargo.lock pyproject.toml bpf/Makefile
ifneq ($(TRACE),)
ifeq ($(wildcard $(TRACE)),)
$(error trace file not found: $(TRACE))
endif
endif
# A test without a verdict writes a note to this file, and .ci/not-judged counts the notes.
export SLOWSTART_NOT_JUDGED ?= $(CURDIR)/target/not-judged.txt
# The parts of `make test` write their times to this file, and .ci/timed prints them.
export SLOWSTART_TIMES ?= $(CURDIR)/target/times.txt
TIMED := .ci/timed
# The largest number of tests in which the host may stall; no limit if empty.
NOT_JUDGED_LIMIT ?=
# The extension module links only inside a Python interpreter, so cargo test excludes it.
RUST := --workspace --exclude slowstart-python

# The package includes the kernel programs if they can be built (bpf/README.md). A build without an
# optional part prints one line about it, as `slowstart kernel` and `slowstart vm` do later.
# quinn's sockets and TLS are 28 crates more: the demo does without. Once installed, they stay.
REAL = $(if $(wildcard $(VENV)/real),real)
INSTALL = features=$(REAL); if $(MAKE) -s -C bpf tools >/dev/null 2>&1 && pkg-config --exists libelf zlib 2>/dev/null; then \
	  $(MAKE) -s -C bpf; features=$${features:+$$features,}bpf; \
	else echo "Building without the programs of slowstart kernel, which need $(KERNEL_PACKAGES)"; fi; \
	export BUILD="--profile checkout$${features:+ --features $$features}"; .ci/install

# The program inside the virtual machine (slowstart vm) is static, and built only where it can run.
# The demo does without: it is one third of the build. Once built, it is installed and kept current.
ifeq ($(shell uname -sm),Linux x86_64)
GUEST := python/slowstart/slowstart-guest
endif
# The simulator for a browser. The tests build it where no test may be skipped.
MODULE := docs/explorable/slowstart.wasm
BUILT_MODULE := $(if $(SLOWSTART_REQUIRE_ROOT_TESTS),$(MODULE),$(wildcard $(MODULE)))
BUILT_GUEST := $(if $(SLOWSTART_REQUIRE_ROOT_TESTS),$(GUEST),$(wildcard $(GUEST)))

.PHONY: freebsd guest real demo test snapshots test-kernel kernel-tools capture-tools vm-tools wheel wheels bench clean tools python-tools rust-components explorable site man

demo: $(VENV)/installed
	$(BIN)/slowstart compare geo lte $(if $(TRACE),"trace:$(TRACE)") $(addprefix -a ,$(ALGORITHMS)) \
	  -n $(RUNS) -o report
	@echo "Open $(CURDIR)/report/report.html"

test: begin-times $(VENV)/installed-dev rust-components $(BUILT_MODULE) $(if $(SLOWSTART_REQUIRE_ROOT_TESTS),capture-tools vm-tools)
	@rm -f $(SLOWSTART_NOT_JUDGED)
	cargo fmt --all --check
	$(TIMED) clippy cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(TIMED) "cargo doc" cargo doc --workspace --no-deps --locked --quiet
	$(BIN)/ruff check python benches site
	$(BIN)/ruff format --check python benches site
	$(TIMED) mypy $(BIN)/mypy
	$(TIMED) "mypy of the studies" bash -ec 'for each in python/slowstart/studies/folders/*/analysis.py \
	    python/slowstart/studies/folders/*/analysis/__init__.py; do $(BIN)/mypy $$each; done'
	$(TIMED) "build of the Rust tests" cargo test $(RUST) --locked --quiet --no-run
	$(TIMED) "Rust tests" .ci/rust-tests $(RUST) --locked
	$(TIMED) "examples in the Rust documentation" cargo test $(RUST) --locked --quiet --doc
	$(TIMED) "Python tests" $(BIN)/pytest -n auto --dist loadfile -m "not realtime" --durations=40 --durations-min=3
	$(TIMED) "Python tests in real time" $(BIN)/pytest -m realtime
	@.ci/not-judged $(SLOWSTART_NOT_JUDGED) $(NOT_JUDGED_LIMIT)
	@$(TIMED)

# Prints the rows that differ from the last run that passed here.
snapshots: tools
	SLOWSTART_SNAPSHOT=write cargo test --locked -p slowstart-simulator --test matrix --test table \
	  --test routers --test layers -- --nocapture
	SLOWSTART_SNAPSHOT=write cargo test --locked -p slowstart-conformance --test pages \
	  --test requirements
	SLOWSTART_SNAPSHOT=write cargo test --locked -p slowstart-kernel --test options
	SLOWSTART_SNAPSHOT=write cargo test --locked -p slowstart-scenario --test schema

# Draws the tables that the snapshots hash, and what has changed since they last passed.
.PHONY: charts
charts: $(VENV)/installed
	cargo test --locked --quiet -p slowstart-simulator --test matrix --test table || true
	$(BIN)/python .ci/charts target

# The first prerequisite of `make test`, so that its table has the build.
.PHONY: begin-times
begin-times:
	@mkdir -p $(dir $(SLOWSTART_TIMES)) && rm -f $(SLOWSTART_TIMES)

test-kernel: kernel-tools begin-times
	@rm -f $(SLOWSTART_NOT_JUDGED)
	$(MAKE) -C bpf
	# All packages, because for a few of them cargo would compile what they share with other features.
	$(TIMED) "clippy with the programs" cargo clippy --workspace --all-targets \
	  --features slowstart-kernel/bpf,slowstart-python/bpf,slowstart-python/real --locked -- -D warnings
	# `stack` runs in `make test` too: here the probe is its data source instead of TCP_INFO.
	SLOWSTART_REQUIRE_ROOT_TESTS=1 ONLY="kernel/ kernel-stack/stack" $(TIMED) "kernel programs" \
	  .ci/rust-tests $(RUST) --features slowstart-kernel/bpf,slowstart-kernel-stack/bpf --locked
	@.ci/not-judged $(SLOWSTART_NOT_JUDGED) $(NOT_JUDGED_LIMIT)
	@$(TIMED)

# quiche as a worker: its build compiles BoringSSL, for some minutes, and is part of nothing else.
.PHONY: quiche
quiche: rust-components
	$(call packages,cmake clang libclang-dev g++ git)
	cargo build --release --locked --manifest-path stacks/quiche/Cargo.toml

# A transfer between two endpoints of a stack in C, which takes our start-ups through crates/capi.
.PHONY: picoquic quicly
picoquic quicly: rust-components
	@[ -n "$(SOURCE)" ] || { echo "make: name the source of $@, as in make picoquic PICOQUIC=DIR" >&2; exit 2; }
	$(call packages,cmake gcc libssl-dev)
	stacks/transfer $@ $(SOURCE)
picoquic: SOURCE = $(PICOQUIC)
quicly: SOURCE = $(QUICLY)

# s2n-quic with sockets and TLS compiles aws-lc, in C: it is part of nothing else.
.PHONY: s2n-quic
s2n-quic: tools
	.ci/example quic-s2n

freebsd:
	PYTHON=$(PYTHON) .ci/freebsd

guest: $(GUEST)

python/slowstart/slowstart-guest: $(SOURCES) | tools
	@mkdir -p target
	$(TIMED) "build of the guest" cargo rustc -p slowstart-vm --bin slowstart-guest \
	  --profile checkout --locked -- -C target-feature=+crt-static -C strip=symbols
	cp "$$(cargo metadata --format-version 1 --no-deps | $(PYTHON) -c \
	  'import json, sys; print(json.load(sys.stdin)["target_directory"])')/checkout/slowstart-guest" $@

explorable: $(MODULE)
	@echo "Serve it with: $(PYTHON) -m http.server --directory docs/explorable, and open http://localhost:8000"

WASM := wasm32-unknown-unknown
$(MODULE): $(SOURCES) | tools
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)" ] || rustup target add $(WASM)
	$(TIMED) "build of the explorable" cargo build --package slowstart-explorable --target $(WASM) \
	  --profile explorable --locked
	cp "$$(cargo metadata --format-version 1 --no-deps | $(PYTHON) -c \
	  'import json, sys; print(json.load(sys.stdin)["target_directory"])')/$(WASM)/explorable/explorable.wasm" $@

# Links out of docs/ lead to REPOSITORY; without one, they are plain text. A broken link is an error.
REPOSITORY ?=
SITE_PATH := PYTHONPATH=$(CURDIR)/site
site: $(MODULE) $(VENV)/installed-site
	$(SITE_PATH) $(BIN)/python site/build.py target/site/docs $(REPOSITORY)
	$(SITE_PATH) NO_MKDOCS_2_WARNING=1 $(TIMED) "site" $(BIN)/mkdocs build --quiet \
	  --config-file target/site/mkdocs.yml
	@echo "Serve it with: $(PYTHON) -m http.server --directory target/site/html"

$(VENV)/installed-site: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  "mkdocs-material>=9.6,<10" "mkdocstrings[python]>=1,<2"
	@touch $@

man: $(VENV)/installed
	$(BIN)/python site/commands.py dist/man

# PGO=yes fails if a tool is missing, PGO=no uses no profile (docs/reference/performance.md).
PGO ?=
WITH_PROFILE := PGO=$(PGO) PYTHON=$(CURDIR)/$(BIN)/python benches/pgo/run
wheel: $(GUEST) | tools $(BIN)/python
	rm -rf target/wheel
	$(WITH_PROFILE) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --wheel-dir target/wheel .
	mkdir -p dist && mv target/wheel/*.whl dist

wheels: $(GUEST) | tools
	PYTHON=$(PYTHON) .ci/wheels

# The commit is checked out and built in target/, next to the existing builds. With PGO=yes the
# program is compiled together with the module: then its crates have the same symbols.
BASE ?=
SCENARIOS ?=
BASE_TREE := target/bench-base
BENCH := cargo run --release --locked -p slowstart-benches --
ifeq ($(PGO),yes)
BENCH := target/pgo/build/release/bench
endif
bench: | tools $(if $(filter yes,$(PGO)),$(BIN)/python)
ifeq ($(PGO),yes)
	$(WITH_PROFILE) cargo build --release --locked -p slowstart-python -p slowstart-benches
endif
ifeq ($(BASE),)
	$(BENCH) $(SCENARIOS)
	$(BENCH) acks
	@command -v valgrind >/dev/null || echo "valgrind is missing, so instructions are not counted: apt install valgrind"
	@! command -v valgrind >/dev/null || $(BENCH) instructions $(SCENARIOS)
else
	git rev-parse --verify --quiet '$(BASE)^{commit}' >/dev/null || { \
	  echo "make bench: commit not found: $(BASE)" >&2; exit 2; }
	rm -rf $(BASE_TREE)/tree && mkdir -p $(BASE_TREE)/tree
	git archive '$(BASE)' | tar -x -C $(BASE_TREE)/tree
	cd $(BASE_TREE)/tree && CARGO_TARGET_DIR=$(CURDIR)/$(BASE_TREE)/build cargo build --release --locked -p slowstart-benches
	$(BENCH) --against $(BASE_TREE)/build/release/bench $(SCENARIOS)
endif

clean:
	rm -rf $(VENV) target report dist python/slowstart/*.so $(GUEST) $(MODULE) .pytest_cache .mypy_cache .ruff_cache

tools: python-tools
	@for tool in cargo cc; do command -v $$tool >/dev/null || { \
	  case $$tool in \
	    cargo) hint="install Rust from https://rustup.rs" ;; \
	    cc) hint="apt install gcc libc6-dev" ;; \
	  esac; \
	  echo "make: $$tool is missing: $$hint" >&2; exit 2; }; done

python-tools:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) is missing: apt install python3 python3-venv" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "make: $(PYTHON) is older than 3.10: select another one with make PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: $(PYTHON) cannot create a virtual environment: apt install python3-venv" >&2; exit 2; }

# Installs the packages of a list if one is missing, or fails with the command to install them.
define packages
	@dpkg-query -W -f '$${Status}\n' $(1) 2>/dev/null | grep -c '^install ok installed' \
	  | grep -qx $(words $(1)) || { apt-get -qq update \
	  && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $(1) >/dev/null; } || { \
	  echo "make: one of these packages is missing: apt install $(1)" >&2; exit 2; }
endef

KERNEL_PACKAGES := clang llvm libbpf-dev bpftool libelf-dev zlib1g-dev pkg-config
kernel-tools: rust-components
	@[ "$$(id -u)" = 0 ] || { echo "make test-kernel: loading programs into the kernel needs root" >&2; exit 2; }
	$(call packages,$(KERNEL_PACKAGES))

# Tests compare our captures with both.
capture-tools:
	$(call packages,tshark tcptrace)

ifneq ($(GUEST),)
vm-tools: $(VENV)/installed-dev
	$(call packages,qemu-system-x86)
	@$(BIN)/slowstart vm 2>/dev/null || $(BIN)/slowstart vm prepare
endif

rust-components: tools
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { \
	  command -v rustup >/dev/null && rustup component add rustfmt clippy; } || { \
	  echo "make test: rustfmt or clippy is missing: rustup component add rustfmt clippy," \
	    "or apt install rustfmt rust-clippy" >&2; exit 2; }

$(BIN)/python: | python-tools
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 2; }

# A wheel in dist replaces the build, unless a source is newer. Tests always build.
$(VENV)/installed: $(SOURCES) $(BUILT_GUEST) | $(BIN)/python
	@$(TIMED) "build of the package" bash -eu -c '$(INSTALL) report dist'
	@touch $@

$(VENV)/installed-dev: $(SOURCES) $(BUILT_GUEST) | tools $(BIN)/python
	@$(TIMED) "build of the package" bash -eu -c '$(INSTALL) dev'
	@touch $@ $(VENV)/installed $(VENV)/real

$(VENV)/installed-dev real: REAL = real
real: | tools $(BIN)/python
	@$(TIMED) "build of the package" bash -eu -c '$(INSTALL) report'
	@touch $(VENV)/installed $(VENV)/real
