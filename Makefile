# The commands that people type. Each works on its own in a fresh clone on Debian 12 with Rust and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help quickstart build packages test test-all bench coverage fmt msrv deny

# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Rust needs a C linker, and a part of the TLS library a C compiler; most machines have them.
BUILD_PACKAGES := $(if $(shell command -v cc),,gcc libc6-dev)
# MariaDB and its tools without the service: nothing is started or changed on the system.
SERVER_PACKAGES := mariadb-server-core mariadb-client-core
# The tests of storage lanes and of `plimsoll io`; what cannot be installed is skipped, and said.
STORAGE_PACKAGES := e2fsprogs xfsprogs btrfs-progs nbdkit nbdkit-plugin-dev libnbd-bin fuse3 fio eatmydata mariadb-backup
# Those of network lanes: storage servers and their clients, none of which is started as a service.
NETWORK_PACKAGES := tgt qemu-system-common qemu-utils qemu-block-extra nfs-ganesha nfs-ganesha-vfs rpcbind sshfs \
	openssh-sftp-server socat iproute2
# For agents on other machines, of which a test is one.
SSH_PACKAGES := openssh-server openssh-client
# For the scripts of report and dashboard; whoever has npm has node.
WEB_PACKAGES := $(if $(shell command -v npm),,nodejs npm)
TEST_PACKAGES := $(BUILD_PACKAGES) $(SERVER_PACKAGES) sysbench chromium
# Those whose advice is tried, where it is asked for; MySQLTuner needs more clients than our tests.
ADVISORS := $(if $(findstring advise,$(ARGS)),mysqltuner percona-toolkit mariadb-client)
# `--server /path/to/mysqld` needs none of ours.
OWN_SERVER := $(findstring --server /,$(ARGS))$(findstring --server=/,$(ARGS))

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

quickstart: ## from a bare machine to a measured report; ARGS='--server PATH' passes options on
	@scripts/install-packages $(BUILD_PACKAGES) $(if $(OWN_SERVER),,$(SERVER_PACKAGES))
	@cargo build --release --locked --package plimsoll
	@exec $(TARGET)/release/plimsoll quickstart $(ARGS)

build: ## the release binary, with the scripts of report and dashboard built in
	@scripts/install-packages $(BUILD_PACKAGES)
	@scripts/install-packages $(WEB_PACKAGES) || true
	@scripts/build-web || [[ $$? == 3 ]]
	@cargo build --release --locked --package plimsoll

packages: ## what people install, in target/packages: static binary, Debian package, container image, SBOM
	@scripts/install-packages $(BUILD_PACKAGES)
	@scripts/install-packages $(WEB_PACKAGES) || true
	@scripts/build-web || [[ $$? == 3 ]]
	@exec scripts/packages

test: ## the checks (format, clippy, layers, sizes …) and every test, in minutes
	@scripts/install-packages $(TEST_PACKAGES)
	@scripts/install-packages $(STORAGE_PACKAGES) || true
	@scripts/install-packages $(NETWORK_PACKAGES) || true
	@scripts/install-packages $(WEB_PACKAGES) || true
	@scripts/build-web || [[ $$? == 3 ]]
	@cargo xtask check
	@export PLIMSOLL_TEST_MYSQL="$$(scripts/unpack-server mysql || true)"
	export PLIMSOLL_TEST_NATS_SERVER="$$(scripts/unpack-server nats || true)"
	exec cargo xtask test

# Tests of the command line that judge what a machine does: nothing else runs meanwhile.
TIMED := bottlenecks:: bottlenecks_storage:: compare:: interruptions:: lab_truths:: network_storage:: quickstart:: quiet:: \
	makes_it_swap recovery_takes_longer storage_truths::
# Those that build lanes, which few tests do at a time: the rest runs beside them, and waits for none of them.
LANES := crash:: crash_interrupted:: datasets:: every_plan:: lanes:: starting_data

test-all: ## also the long tests: whole matrices, kills, mounts, MariaDB of the next Debian
	@scripts/install-packages $(TEST_PACKAGES)
	@scripts/install-packages $(STORAGE_PACKAGES) || true
	@scripts/install-packages $(NETWORK_PACKAGES) || true
	@scripts/install-packages $(SSH_PACKAGES) || true
	@scripts/install-packages $(WEB_PACKAGES) || true
	@scripts/build-web || [[ $$? == 3 ]]
	@cargo xtask check
	@export PLIMSOLL_TEST_ALL=1
	export PLIMSOLL_TEST_MYSQL="$$(scripts/unpack-server mysql || true)"
	export PLIMSOLL_TEST_NATS_SERVER="$$(scripts/unpack-server nats || true)"
	export PLIMSOLL_TEST_NATS_SERVER_NEW="$$(scripts/build-nats-server || scripts/unpack-server nats trixie || true)"
	export PLIMSOLL_TEST_SLURM="$$(scripts/unpack-server slurm || true)"
	export PLIMSOLL_TEST_MARIADB_NEW="$$(scripts/unpack-server mariadb trixie || true)"
	old="$$(scripts/unpack-server mariadb bookworm || true)"
	export PLIMSOLL_TEST_PLUGINS="$${old:+$${old%/bin/*}/plugin}"
	status=0
	# What a shell starts in the background ignores an interrupt.
	trap 'trap - TERM; kill 0' INT TERM
	RUST_TEST_THREADS=3 cargo xtask test --include-ignored $(addprefix --skip ,$(TIMED)) $(LANES) &
	cargo xtask test --include-ignored $(addprefix --skip ,$(TIMED) $(LANES)) || status=$$?
	wait $$! || status=$$?
	RUST_TEST_THREADS=1 cargo xtask test --include-ignored $(TIMED) || status=$$?
	# 3: said loudly why it cannot be tried here.
	{ scripts/packages && scripts/try-packages; } || [[ $$? == 3 ]] || status=1
	exit $$status

bench: ## Plimsoll against its peers on this machine: medians, spreads, ratios
	@scripts/install-packages $(BUILD_PACKAGES) $(SERVER_PACKAGES) sysbench fio $(ADVISORS)
	@cargo build --release --locked --package plimsoll --package plimsoll-bench
	@export PLIMSOLL_TEST_MYSQL="$$(scripts/unpack-server mysql || true)"
	broker="$$(scripts/unpack-server nats || true)"
	export PATH="$$PATH$${broker:+:$${broker%/*}}"
	exec $(TARGET)/release/plimsoll-bench $(ARGS)

coverage: ## how often Plimsoll's intervals contain the truth: seeded simulations, as docs/statistics.md shows them
	@scripts/install-packages $(BUILD_PACKAGES)
	@exec cargo run --release --quiet --locked --package plimsoll-stats --example coverage -- $(ARGS)

fmt: ## format all code
	@cargo fmt --all

msrv: ## that all of it builds with the oldest Rust which Cargo.toml promises
	@scripts/install-packages $(BUILD_PACKAGES)
	@exec scripts/msrv

deny: ## what is depended on: known vulnerabilities, licences, sources
	@exec scripts/deny

# Each recipe is one shell, so that what it exports holds to its end.
.ONESHELL:
