# The two commands of the README are `make demo` and `make test`. All other targets are parts of them.

CARGO ?= cargo

# Property tests draw the same cases every time, so that a change is what turns a test red.
# `make explore` draws new cases of property tests.
export PROPTEST_RNG_SEED ?= 20261120
# The versions of Node that repnet is for, without the one that is installed.
OTHER_NODES = $(filter-out $(shell node -p 'process.versions.node.split(".")[0]'),20 22 24)
TAILCUT = $(CARGO) run --release --quiet --locked --bin tailcut --

# Python of the package's environment.
PYTHON ?= python3
# Flags of pip for a file of requirements. pip refuses a package whose hash is not in the file.
PINNED = --quiet --disable-pip-version-check --require-hashes
# `make pins` writes the file of requirements with the newest versions that fit.
COMPILE = uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate --upgrade

.PHONY: fuzz fuzz-briefly codec-neon codec-miri miri tsan sanitizer services python pins costs coverage explore demo test build build-small crates wheels npm-package deb dist dist-check package-files tools rust-test kernel-cases lint npm-build npm-test soak node-suite node-suite-all bench reproduce page-checkers

# Builds, compares five designs at three loads, prints the table and writes one HTML page.
demo: build-small
	target/demo/tailcut compare tcp dctcp repflow repsyn repflow+dctcp \
	    --load 0.3,0.5,0.7 --seeds 6 --flows 1000 --out out/demo

# Every test there is. Installs what they need where it is missing (see .ci/tools).
test: tools lint package-files rust-test npm-test node-suite python fuzz-briefly

build:
	$(CARGO) build --release --locked --bin tailcut

# A program for a first look, built in a third of the time: without lab, proxy, guard, gateway and fonts.
# The program for a first look has no optimisation across crates.
# It has its own directory, so that no slow program is where the fast one is expected.
build-small:
	$(CARGO) build --profile demo --locked --bin tailcut --no-default-features

tools:
	.ci/tools

# All packages, with their checksums and a list of the licences of everything that they contain.
# A build of all packages from nothing takes about 40 CPU-minutes.
dist: crates wheels npm-package deb
	$(CARGO) deny --locked list >dist/LICENSES.txt
	cd dist && sha256sum -- *.crate *.whl *.tgz *.deb LICENSES.txt >SHA256SUMS

# Crates in the order of their dependencies, as `cargo publish --workspace` uploads them.
crates:
	mkdir -p dist
	$(CARGO) package --workspace --locked --no-verify --exclude tailcut-oracle --exclude tailcut-fuzz
	cp target/package/*-0.1.0.crate dist/

# A wheel for every Python from 3.10 on. Zig provides the old C library that the tag `manylinux_2_17` promises.
wheels:
	mkdir -p dist
	$(PYTHON) -m venv target/maturin
	target/maturin/bin/pip install $(PINNED) -r .ci/python/wheels.txt
	cd python && PATH="$(CURDIR)/target/maturin/bin:$$PATH" CARGO_TARGET_DIR=$(CURDIR)/target/wheels ../target/maturin/bin/maturin build \
	    --release --locked --zig --compatibility manylinux_2_17 --out $(CURDIR)/dist

npm-package:
	mkdir -p dist
	cd packages/repnet && npm ci --no-audit --no-fund && npm pack --pack-destination $(CURDIR)/dist

# The Debian package, with completions and manual pages. `cargo deb` builds the program with the profile `dist`.
deb:
	mkdir -p dist target/deb/completions
	command -v cargo-deb >/dev/null || $(CARGO) install cargo-deb --version 3.8.0 --locked --profile dev
	$(CARGO) build --profile dist --locked --bin tailcut
	rm -rf target/deb/man && target/dist/tailcut man --dir target/deb/man
	for shell in bash zsh fish; do target/dist/tailcut completions $$shell >target/deb/completions/$$shell; done
	$(CARGO) deb --no-build --profile dist -p tailcut --output dist/

# Installs each package into a fresh place and runs it. Needs root for the Debian package.
dist-check:
	.ci/dist-check

# The lists of files in the packages.
package-files:
	.ci/package-files

lint:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path python/Cargo.toml --check
	.ci/plain-english
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	CARGO_TARGET_DIR=target $(CARGO) clippy --manifest-path bench/rans/Cargo.toml --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) deny --locked check bans licenses sources
	@if $(CARGO) deny --log-level off --locked fetch db; then \
	    $(CARGO) deny --offline --locked check advisories; \
	else \
	    echo "advisories: not checked, because their database (https://github.com/RustSec/advisory-db) cannot be fetched"; \
	fi

# The library and the npm package are tested against each other. All tests run, so that one run shows every failure.
# Clippy checks the examples. Tests need only one example, and a build of all examples would take minutes.
rust-test: npm-build page-checkers services
	$(CARGO) build --workspace --locked --example own_command
	$(CARGO) test --workspace --locked --lib --bins --tests --no-fail-fast
	$(CARGO) test --workspace --locked --doc

# The cases of TCP that were measured on Linux, with the kernel of this machine: needs root and a TUN device.
# `make rust-test` also runs the cases of TCP, but does not show the result of each case.
kernel-cases:
	$(CARGO) test --locked -p tailcut-lab --test kernel_cases -- --nocapture

# Checkers of the report's pages, for its tests.
page-checkers:
	cd crates/report/tests/checkers && npm ci --ignore-scripts --no-audit --no-fund

# Searches with coverage for inputs that break a parser or a state machine: all targets, or those of TARGET, each for
# SECONDS of CPU time. KEEP=yes copies inputs that add coverage into fuzz/corpus. The results go into fuzz/results.md.
# Stable Rust; the libraries of others are those of `make test`.
SECONDS = 60
fuzz: fuzz/built-1
	fuzz/search --seconds $(SECONDS) $(if $(KEEP),--keep) --results fuzz/results.md $(TARGET)

# The same as a test: the corpus and two seconds for each target. The crates are not optimised, which saves more time
# in their build than it costs here.
fuzz-briefly: fuzz/built-0
	fuzz/search --seconds 2 --no-minimising

# Builds the fuzzer with this optimisation of the crates of the workspace. `--workspace` selects the features of
# `make python`, whose libraries are used again. sccache refuses other compilers than rustc.
fuzz/built-%:
	CARGO_INCREMENTAL=0 RUSTC_WRAPPER= RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/fuzz/cover $(CARGO) build --locked --workspace \
	    --features tailcut-fuzz/libfuzzer --bin fuzz $(foreach crate,$(shell $(FUZZED)),--config profile.dev.package.$(crate).opt-level=$*)

# Names of the crates of the workspace in the fuzzer.
FUZZED = $(CARGO) tree --locked -p tailcut-fuzz -e normal --prefix none | grep -o '^tailcut-[a-z]*' | sort -u

npm-build:
	cd packages/repnet && npm ci --no-audit --no-fund && npm run build

# The property tests on cases of their own, ten times as many.
explore: npm-build page-checkers services
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=2560 RANDOM_SCENARIOS=500 $(CARGO) test --workspace --locked

npm-test:
	cd packages/repnet && npm ci --no-audit --no-fund && npm run lint && npm test
	cd packages/repnet && for major in $(OTHER_NODES); do \
	    npm exec --yes --package=node@$$major -c 'npm run test:built' || exit 1; \
	done

# The versions and hashes of all Python packages that the targets of this file install. Needs uv.
pins:
	cd .ci/python && $(COMPILE) -o services.txt services.in
	cd .ci/python && $(COMPILE) -o wheels.txt wheels.in
	cd .ci/python && $(COMPILE) -o tests.txt --extra test ../../python/pyproject.toml wheels.in

# A store for S3 and its client, for the tests of the gateway.
services:
	$(PYTHON) -m venv target/services
	target/services/bin/pip install $(PINNED) -r .ci/python/services.txt

# The Python package, installed into a separate environment, and its tests, notebooks and types.
# The program is built as for tests: an optimised build takes eight CPU-minutes and makes the tests no faster.
python:
	$(CARGO) build --workspace --locked --bin tailcut
	$(PYTHON) -m venv target/python
	target/python/bin/pip install $(PINNED) -r .ci/python/tests.txt
	PATH="$(CURDIR)/target/python/bin:$$PATH" MATURIN_PEP517_ARGS='--profile dev' target/python/bin/pip install \
	    --quiet --disable-pip-version-check --no-deps --no-build-isolation ./python
	cd python && TAILCUT=$(CURDIR)/target/debug/tailcut ../target/python/bin/pytest

# repnet over paths that delay, stall, cut and reset: 100,000 flows on Node, and a million between Rust and Node.
# The flows of repnet take about an hour and a half on two cores.
# Guards and clients of HTTP under faults and floods follow, for an hour at a small share of a core.
# The last results of the soak are committed in the folder of the tests.
soak: npm-build
	cd packages/repnet && npm run soak
	TAILCUT_REPNET_CHAOS=62500 $(CARGO) test --locked -p tailcut-repnet --test node_matrix -- --nocapture
	$(CARGO) run --release --locked --manifest-path bench/rans/Cargo.toml --bin soak -- 3600 100 crates/rans/tests/soak.md
	TAILCUT_CAST_KILLS=100 $(CARGO) test --locked -p tailcut-cast --test files -- kill::
	TAILCUT_CAST_KILLS=100 $(CARGO) test --locked -p tailcut --test process -- cast::faults::ends_that

# The net, http, https, http2 and tls tests of the installed version of Node, with repnet.
# RepSYN runs only some of the tests: `make node-suite-all` runs all of them.
node-suite:
	tests="$$(.ci/node-tests)" && cd packages/repnet && npm ci --no-audit --no-fund && npm run node-suite -- --brief --tests "$$tests"

# The same and cluster's in every mode under each Node, and the page of results. Takes about an hour on two cores.
node-suite-all:
	cd packages/repnet && npm ci --no-audit --no-fund && npm run build:test
	failed=; for major in 20 22 24; do \
	    ( tests="$$(.ci/node-tests $$major)" && cd packages/repnet && \
	        node="$$(npm exec --yes --package=node@$$major -c 'node -p process.execPath')" && \
	        node build/test/node-suite/run.js --tests "$$tests" --node "$$node" --json build/node-suite-$$major.json \
	            --mode plain --mode register --mode repflow --mode repsyn --duplex ) || failed=yes; \
	done; \
	cd packages/repnet && node build/test/node-suite/table.js build/node-suite-20.json build/node-suite-22.json build/node-suite-24.json \
	    >test/node-suite/results.md && [ -z "$$failed" ]

# Ends a target with the name of the component that nightly Rust lacks.
nightly_with = @rustup component list --toolchain nightly --installed 2>/dev/null | grep -q '^$(1)' || { \
    echo "$@: not run; needs nightly Rust with $(1): rustup toolchain install nightly --component $(1)"; exit 1; }

# The vector instructions of the codec, interpreted.
codec-miri:
	$(call nightly_with,miri)
	RUSTFLAGS="-C target-feature=+avx2,+avx512f,+gfni" MIRIFLAGS=-Zmiri-disable-isolation \
	    $(CARGO) +nightly miri test -p tailcut-cast --lib codec::

# Parsers and state machines without I/O, interpreted: undefined behaviour of them and of their libraries.
miri: codec-miri
	$(CARGO) +nightly miri test --locked -p tailcut-units -p tailcut-wire -p tailcut-requests -p tailcut-fabric --lib

# Threads of the sockets and of the proxies under the thread sanitizer. The standard library is built with it too.
tsan:
	$(call nightly_with,rust-src)
	RUSTFLAGS=-Zsanitizer=thread $(CARGO) +nightly test --locked -Zbuild-std --target x86_64-unknown-linux-gnu \
	    -p tailcut-cast -p tailcut-rans -p tailcut-repnet --lib --tests

# Sockets, codec and the probe under the address sanitizer: needs a nightly Rust. Four CPU-minutes from nothing.
sanitizer:
	$(call nightly_with,rustc)
	RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test --locked --target x86_64-unknown-linux-gnu \
	    -p tailcut-cast -p tailcut-probe --lib --test udp_sockets --test udp_strangers --test udp_transfers

# The codec's kernel for NEON, under an emulated processor. The target needs two installations:
# `apt-get install qemu-user gcc-aarch64-linux-gnu` and `rustup target add aarch64-unknown-linux-gnu`.
codec-neon: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = aarch64-linux-gnu-gcc
codec-neon: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER = qemu-aarch64 -L /usr/aarch64-linux-gnu
codec-neon: export CC_aarch64_unknown_linux_gnu = aarch64-linux-gnu-gcc
codec-neon:
	$(CARGO) test --locked --manifest-path bench/codec/Cargo.toml --target aarch64-unknown-linux-gnu

# The figures of docs/performance.md.
bench: build
	$(TAILCUT) bench --repeat 5

# How often the report's intervals hold, for docs/validation.md: some 2 CPU-hours. A second start continues the first.
coverage:
	$(CARGO) run --release --quiet --locked -p tailcut --example coverage

# Accuracy of the predicted CPU time of studies, for docs/studies.md: some 5 CPU-minutes, best on an idle machine.
costs:
	$(CARGO) run --release --quiet --locked -p tailcut-study --example costs -- \
	    scenarios/*.toml scenarios/bench/*-k8.toml

# Published figures beside ours, in their quick form.
reproduce: build
	$(TAILCUT) reproduce --quick --check
