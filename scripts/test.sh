#!/usr/bin/env bash
# What `make test` runs once everything is set up; --long for the full matrix.
set -euo pipefail
cd "$(dirname "$0")/.."
long=
[ "${1:-}" = --long ] && long=yes
jobs=${JOBS:-2}
cmake=.venv/bin/cmake
ctest=.venv/bin/ctest
step() { printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"; }

# build NAME TARGETS... -- OPTIONS...: one configuration in build/NAME.
build() {
  local name=$1 targets=()
  shift
  while [ "$1" != -- ]; do targets+=("$1") && shift; done
  shift
  "$cmake" -S . -B "build/$name" -G Ninja -DPHICOLL_BUILD_TESTS=ON -DPHICOLL_WARNINGS_AS_ERRORS=ON "$@" >"build/$name.log"
  "$cmake" --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"} >>"build/$name.log" || {
    tail -40 "build/$name.log"
    return 1
  }
}
run_ctest() {
  local name=$1
  shift
  "$ctest" --test-dir "build/$name" --output-on-failure --no-tests=error "$@"
}

mkdir -p build
step "style"
scripts/style.sh

step "C++: build and ctest"
build tests -- 
if [ -n "$long" ]; then export PHICOLL_TEST_LONG=1; fi
run_ctest tests

step "Python: pytest, the notebook among them"
.venv/bin/python -m pytest -q ${long:+-m "long or not long"}

# A sample of the other builds: the tests of what is shared and raced for.
sample=(test_barrier_correctness test_groups test_group_faults test_os_sync test_parking)
with_bench=OFF
if [ -n "$long" ]; then
  sample=()
  with_bench=ON
fi
for sanitizer in thread address,undefined; do
  step "sanitizer: $sanitizer"
  build "san-$sanitizer" "${sample[@]}" -- -DPHICOLL_SANITIZE=$sanitizer -DPHICOLL_BUILD_BENCH="$with_bench"
  TSAN_OPTIONS=halt_on_error=1 run_ctest "san-$sanitizer" ${sample:+-R "^($(IFS='|'; echo "${sample[*]}"))$"}
done
step "all fallbacks forced"
build fallbacks "${sample[@]}" -- -DPHICOLL_FORCE_FALLBACKS=ON -DPHICOLL_BUILD_BENCH="$with_bench" -DPHICOLL_WITH_HWLOC=OFF -DPHICOLL_WITH_BOOST=OFF
run_ctest fallbacks ${sample:+-R "^($(IFS='|'; echo "${sample[*]}"))$"}

step "a plain build without Python, installed, used by a project outside"
build plain -- -DPHICOLL_BUILD_TESTS=OFF
"$cmake" --install build/plain --prefix "$PWD/build/prefix" >>build/plain.log
"$cmake" -S tests/package -B build/package -G Ninja -DCMAKE_PREFIX_PATH="$PWD/build/prefix" >build/package.log
"$cmake" --build build/package >>build/package.log
build/package/meet
build/prefix/bin/phicoll-bench --version

if [ -n "$long" ]; then
  step "aarch64 under QEMU (weak ordering is not tested there; cross-process copy falls back)"
  tests/aarch64.sh
  step "the card's program, by a stand-in for its compiler (nothing of it is run)"
  tests/k1om_stand_in.sh build/k1om-stand-in >build/k1om-stand-in.log
fi
step "all passed"
