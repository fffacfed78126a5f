# The two commands of the README are `make demo` and `make test`; the others are their parts.

CARGO ?= cargo

# Property tests draw the same cases every time, so that a change is what turns a test red.
# `make explore` draws new ones.
export PROPTEST_RNG_SEED ?= 20261120
# The versions of Node that repnet is for, without the one that is installed.
OTHER_NODES = $(filter-out $(shell node -p 'process.versions.node.split(".")[0]'),20 22 24)
TAILCUT = $(CARGO) run --release --quiet --locked --bin tailcut --

.PHONY: coverage explore demo test build tools rust-test lint npm-test node-suite bench reproduce

# Builds, compares five designs at three loads, prints the table and writes one HTML page.
demo: build
	$(TAILCUT) compare tcp dctcp repflow repsyn repflow+dctcp \
	    --load 0.3,0.5,0.7 --seeds 6 --flows 1200 --out out/demo

# Every test there is. Installs what they need where it is missing (see .ci/tools).
test: tools lint rust-test npm-test node-suite

build:
	$(CARGO) build --release --locked --bin tailcut

tools:
	.ci/tools

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) deny --locked check bans licenses sources
	@if $(CARGO) deny --log-level off --locked fetch db; then \
	    $(CARGO) deny --offline --locked check advisories; \
	else \
	    echo "advisories: not checked, because their database (https://github.com/RustSec/advisory-db) cannot be fetched"; \
	fi

rust-test:
	$(CARGO) test --workspace --locked

# The property tests on cases of their own, ten times as many.
explore:
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=2560 $(CARGO) test --workspace --locked

npm-test:
	cd packages/repnet && npm ci --no-audit --no-fund && npm run lint && npm test
	cd packages/repnet && for major in $(OTHER_NODES); do \
	    npm exec --yes --package=node@$$major -c 'npm run test:built' || exit 1; \
	done

# Node's own net tests with repnet in the place of `net`.
node-suite:
	tests="$$(.ci/node-tests)" && cd packages/repnet && npm ci --no-audit --no-fund && npm run node-suite -- --tests "$$tests"

# The figures of docs/performance.md.
bench: build
	$(TAILCUT) bench --repeat 5

# How often the report's intervals hold, for docs/validation.md: some 2 CPU-hours; may be ended and
# started again.
coverage:
	$(CARGO) run --release --quiet --locked -p tailcut --example coverage

# Published figures beside ours, in their quick form.
reproduce: build
	$(TAILCUT) reproduce --quick --check
