# The front door. Every target does all the set-up it needs, so on a fresh Debian 12 machine any of
# them may be the first command typed. `make help` lists them.

JOBS    ?= 2
PREFIX  ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help deps deps-test deps-lint deps-fuzz deps-vm deps-fresh build wheel test test-vm test-repeat test-fresh run \
        bench soak package-matrix screenshots fuzz mutants check check-threads format format-check generate lint install uninstall clean

# ---- Debian packages ---------------------------------------------------------------------------

# What building and `make run` need. The modules of the template python-data are not among them:
# `glovebox doctor` says how to install what a template lacks.
packages := g++ cmake ninja-build ccache pkg-config libseccomp-dev libexpected-dev \
  libtomlplusplus-dev libboost1.81-dev libssl-dev libsqlite3-dev zlib1g-dev libzstd-dev libgtest-dev libgmock-dev \
  python3 python3-dev python3-pip python3-yaml nodejs curl
# What tests and comparisons need besides.
packages_test := python3-numpy python3-pandas python3-matplotlib bubblewrap runc strace sudo uidmap \
  git procps util-linux iproute2 openssl libcap2-bin chromium nginx caddy \
  node-typescript r-base-core openjdk-17-jdk-headless groff-base zsh fish busybox-static musl-tools \
  docker-registry skopeo apache2-utils zstd
# The tests with stock clients install those by npm, which some packages of nodejs bring along.
packages_test += $(if $(shell command -v npm),,npm)
packages_soak := stress-ng libpython3.11-testsuite
packages_lint := clang-format clang-tidy
packages_fuzz := clang-14 libclang-rt-14-dev
packages_fresh := mmdebstrap
packages_vm   := qemu-system-x86 mmdebstrap cpio busybox-static e2fsprogs kmod zstd

deps: ## install the Debian packages needed to build and run (as root, or with sudo)
	@scripts/install-packages $(packages)

deps-test: ## install those for tests and comparisons, too
	@scripts/install-packages $(packages) $(packages_test)

deps-lint: deps
	@scripts/install-packages $(packages_lint)

deps-fuzz: deps
	@scripts/install-packages $(packages_fuzz)

deps-vm: deps-test
	@scripts/install-packages $(packages_vm)

deps-fresh:
	@scripts/install-packages $(packages_fresh)

# ---- Building ----------------------------------------------------------------------------------

# Ninja calls CMake again by itself when a CMakeLists.txt changes; only the first configuration and
# a changed preset are ours to see.
build/%/build.ninja: CMakePresets.json | deps
	@mkdir -p build
	@cmake --preset $* > build/configure-$*.log 2>&1 || { cat build/configure-$*.log; exit 1; }
	@touch $@

build/fuzz/build.ninja: | deps-fuzz

# The first two go to bin, the others to libexec/glovebox. The agent is installed on its own: see install.
user_programs    := glovebox sandbox-run
libexec_programs := glovebox-client glovebox-bench glovebox-server glovebox-launcher glovebox-gateway glovebox-attacks
programs         := $(user_programs) $(libexec_programs) glovebox-agent
# What `make run` waits for.
serving_programs := glovebox glovebox-client glovebox-server glovebox-launcher glovebox-gateway glovebox-agent

build: deps build/release/build.ninja ## build the programs into build/bin
	@cmake --build --preset release --parallel $(JOBS) --target $(programs)

wheel: build ## make the Python SDK's wheel, with the programs in it, in build/wheel
	@scripts/build-wheel

# ---- Trying and testing ------------------------------------------------------------------------

run: deps build/release/build.ninja ## show an example in the sandbox, then serve on 127.0.0.1:7070 until Ctrl-C
	@cmake --build --preset release --parallel $(JOBS) --target $(serving_programs)
	@scripts/demo
	@build/bin/glovebox console --print --wait 20 & exec build/bin/glovebox serve

# Sanitizers for the unit tests; the hardened release build for everything that starts sandboxes.
test: deps-test build build/dev/build.ninja ## run all tests but the long ones
	@scripts/build-tests dev $(JOBS)
	@scripts/build-tests release $(JOBS)
	@scripts/run-tests $(JOBS)

test-vm: build deps-vm ## run the contract and escape tests, and those of a user with cgroups, in a VM with Debian's own kernel
	@scripts/build-tests release $(JOBS)
	@scripts/test-vm

test-repeat: deps-test build ## run the integration tests again and again with every core busy, for an hour
	@scripts/build-tests release $(JOBS)
	@scripts/test-repeat $(ARGS)

test-fresh: deps-fresh ## run `make run` and `make test` in a bare Debian 12 of its own
	@scripts/test-fresh $(ARGS)

bench: deps-test build ## measure start times beside bwrap and runc; many runs, and nothing left behind
	@cmake --build --preset release --parallel $(JOBS) --target bench_cold
	@build/tests/bench_cold
	@build/tests/bench_cold --leaks
	@build/tests/bench_cold --memory

soak: deps-test build ## the long tests: thousands of runs, stress-ng and CPython's tests inside; hours
	@scripts/install-packages $(packages_soak)
	@cmake --build --preset release --parallel $(JOBS) --target syscall_fuzz
	@ctest --test-dir build/release --output-on-failure -C soak -L soak

package-matrix: build ## build, import and call popular packages of PyPI in sandboxes; ARGS="--only numpy,scipy"
	@scripts/package-matrix $(ARGS)

screenshots: deps-test build ## make the pictures of the console for README and docs
	@scripts/screenshots $(ARGS)

fuzz: deps-fuzz build/fuzz/build.ninja ## fuzz every parser, FUZZ_SECONDS (30) each
	@scripts/fuzz $(FUZZ_SECONDS) $(JOBS)

mutants: deps-test ## plant mistakes one at a time and report how many the unit tests notice; ARGS="--seed 2 --count 20"
	@scripts/mutants --jobs $(JOBS) $(ARGS)

# ---- Form --------------------------------------------------------------------------------------

# What is too slow for every `make test`; takes about an hour on two cores.
check: ## check layout and code (clang-tidy), threads (TSan), every parser (fuzzed for 20 s)
	@status=0; \
	$(MAKE) --no-print-directory lint || status=1; \
	$(MAKE) --no-print-directory check-threads || status=1; \
	$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=20 || status=1; \
	exit $$status

check-threads: build build/tsan/build.ninja ## run what has threads with the thread sanitizer
	@scripts/check-threads $(JOBS)

sources = $(shell find src tests \( -name "*.cc" -o -name "*.h" \) | sort)

format: deps-lint ## lay out every source file with clang-format
	@clang-format -i $(sources)

generate: ## write the generated sources again (the blocking client of the Python SDK)
	@python3 sdk/python/tools/generate_sync.py

format-check: ## check that clang-format has laid out every source file
	@scripts/install-packages clang-format
	@clang-format --dry-run -Werror $(sources)

lint: deps-lint format-check build/lint/build.ninja ## check layout (clang-format) and code (clang-tidy)
	@cmake --build --preset lint --parallel $(JOBS) --target guest_filter gbx_api_docs
	@sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/lint/compile_commands.json \
	  | xargs -n 1 -P $(JOBS) clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option \
	      --extra-arg=-Wno-missing-field-initializers --extra-arg=-Wno-shadow -p build/lint

# ---- Installing --------------------------------------------------------------------------------

bin_dir     = $(DESTDIR)$(PREFIX)/bin
libexec_dir = $(DESTDIR)$(PREFIX)/libexec/glovebox
unit_dir    = $(DESTDIR)/etc/systemd/system
man_dir     = $(DESTDIR)$(PREFIX)/share/man/man1
bash_dir    = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zsh_dir     = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fish_dir    = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
completions = $(bash_dir)/glovebox $(bash_dir)/sandbox-run $(zsh_dir)/_glovebox $(fish_dir)/glovebox.fish $(fish_dir)/sandbox-run.fish

install: build ## install into PREFIX (/usr/local), with manual pages, completions and a systemd unit; DESTDIR is honoured
	@install -d $(bin_dir) $(libexec_dir) $(unit_dir)
	@install -m 0755 $(addprefix build/bin/,$(user_programs)) $(bin_dir)/
	@install -m 0755 $(addprefix build/bin/,$(libexec_programs)) $(libexec_dir)/
	@# Unreadable on purpose: a process of such a file cannot be traced or read from inside. To be
	@# copied by an ordinary user it must be readable for that moment.
	@chmod u+r build/bin/glovebox-agent
	@install -m 0111 build/bin/glovebox-agent $(libexec_dir)/glovebox-agent
	@chmod 0111 build/bin/glovebox-agent
	@for unit in glovebox glovebox-launcher; do \
	  sed 's|@PREFIX@|$(PREFIX)|g' packaging/$$unit.service.in > $(unit_dir)/$$unit.service; \
	  chmod 0644 $(unit_dir)/$$unit.service; \
	done
	@scripts/install-manual build/bin $(man_dir)
	@install -d $(bash_dir) $(zsh_dir) $(fish_dir)
	@build/bin/glovebox completion bash > $(bash_dir)/glovebox
	@build/bin/glovebox completion zsh > $(zsh_dir)/_glovebox
	@build/bin/glovebox completion fish > $(fish_dir)/glovebox.fish
	@# The shells look for a file with the name of the command.
	@ln -sf glovebox $(bash_dir)/sandbox-run
	@ln -sf glovebox.fish $(fish_dir)/sandbox-run.fish
	@chmod 0644 $(bash_dir)/glovebox $(zsh_dir)/_glovebox $(fish_dir)/glovebox.fish
	@echo "installed in $(DESTDIR)$(PREFIX); to keep a server running:"
	@echo "  systemctl daemon-reload && systemctl enable --now glovebox"

uninstall: ## remove what `make install` put there
	@rm -f $(addprefix $(bin_dir)/,$(user_programs)) $(addprefix $(unit_dir)/,glovebox.service glovebox-launcher.service)
	@rm -f $(addprefix $(libexec_dir)/,$(libexec_programs) glovebox-agent) $(completions)
	@rm -f $(man_dir)/glovebox.1 $(man_dir)/glovebox-*.1 $(man_dir)/sandbox-run.1
	@rmdir $(libexec_dir) 2> /dev/null || true

clean: ## remove everything that was built
	@rm -rf build

help: ## show this list
	@echo "Glovebox. First try:  make run      All tests:  make test"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) \
	  | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'
