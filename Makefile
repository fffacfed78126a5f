# The two commands of the README are `make demo` and `make test`; the others are their parts.

CARGO ?= cargo

# Property tests draw the same cases every time, so that a change is what turns a test red.
# `make explore` draws new ones.
export PROPTEST_RNG_SEED ?= 20261120
TAILCUT = $(CARGO) run --release --quiet --locked --bin tailcut --

.PHONY: explore demo test build tools rust-test lint npm-test bench reproduce

# Builds, compares five designs at three loads, prints the table and writes one HTML page.
demo: build
	$(TAILCUT) compare tcp dctcp repflow repsyn repflow+dctcp \
	    --load 0.3,0.5,0.7 --seeds 6 --flows 1200 --out out/demo

# Every test there is. Installs what they need where it is missing (see .ci/tools).
test: tools lint rust-test npm-test

build:
	$(CARGO) build --release --locked --bin tailcut

tools:
	.ci/tools

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

rust-test:
	$(CARGO) test --workspace --locked

# The property tests on cases of their own, ten times as many.
explore:
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=2560 $(CARGO) test --workspace --locked

npm-test:
	cd packages/repnet && npm ci --no-audit --no-fund && npm run lint && npm test

# The figures of docs/performance.md.
bench: build
	$(TAILCUT) bench --repeat 5

# Published figures beside ours, in their quick form.
reproduce: build
	$(TAILCUT) reproduce --quick --check
