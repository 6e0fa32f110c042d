#!/usr/bin/env bash
# Runs the tests of `make test` once everything is set up; --long: those of `make test-long`.
# BUDGET: with --long, minutes for the full matrix of the barriers, over all builds. Its order is seeded, so less time is a
# smaller sample of all of it; 0 runs all of it in every build. Everything else takes about half an hour.
# PHICOLL_TEST_SEED: another order.
set -euo pipefail
cd "$(dirname "$0")/.."
long=
[ "${1:-}" = --long ] && long=yes
jobs=${JOBS:-2}
at_once=3  # programs of ctest, on two cores: much of a test is waiting
budget=${BUDGET:-36}
case "$budget" in
  "" | *[!0-9]*)
    echo "BUDGET: got '$budget', allowed: whole minutes, 0 for no bound" >&2
    exit 2
    ;;
esac
cmake=.venv/bin/cmake
ctest=.venv/bin/ctest
# Time limit of one test program: its largest part of the matrix, and the usual limit.
timeout_s=300
if [ -n "$long" ]; then timeout_s=$((budget > 0 ? budget * 60 + 900 : 86400)); fi
# Parts whose tests failed. The other parts are run all the same, so that one run tells all.
failed=()
# step NAME: the next part. tell_times prints what each took. CPU time counts when this shell waits for a process, so what runs
# beside counts in the part that waits for it.
parts=()
part=
began=(0 0)
most_cpu_s=1800  # of all parts but --long's, from a clean clone, without the build of the package
step() {
  local minutes seconds sys_minutes sys_seconds cpu
  times >build/times
  { read -r _ && IFS='ms., ' read -r minutes seconds _ sys_minutes sys_seconds _; } <build/times
  cpu=$(((minutes + sys_minutes) * 60 + seconds + sys_seconds))
  if [ -n "$part" ]; then
    parts+=("$(printf '%6d s, of the CPUs %5d s: %s' $((SECONDS - began[0])) $((cpu - began[1])) "$part")")
  fi
  part=$1
  began=("$SECONDS" "$cpu")
  printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"
}
tell_times() {
  printf '%s\n' "${parts[@]}"
  if [ -z "$long" ] && [ "${began[1]}" -gt "$most_cpu_s" ]; then
    echo "WARNING: ${began[1]} s of the CPUs' time, at most $most_cpu_s s wanted: find what grew, or mark it long"
  fi
}

# build NAME TARGETS... -- OPTIONS...: one configuration in build/NAME.
build() {
  local name=$1 targets=()
  shift
  while [ "$1" != -- ]; do targets+=("$1") && shift; done
  shift
  "$cmake" -S . -B "build/$name" -G Ninja -DPHICOLL_BUILD_TESTS=ON -DPHICOLL_WARNINGS_AS_ERRORS=ON \
    -DPHICOLL_TEST_TIMEOUT_S="$timeout_s" "$@" >"build/$name.log"
  "$cmake" --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"} >>"build/$name.log" || {
    tail -40 "build/$name.log"
    return 1
  }
}
# share PERCENT: this build's share of the budget, if the matrix is run.
share() {
  if [ -n "$long" ]; then export PHICOLL_TEST_BUDGET_S=$((budget * 60 * $1 / 100)); fi
}
run_ctest() {
  local name=$1
  shift
  # Buffers that come and go stay in the process: without it the kernel clears their pages anew, half of some programs' time.
  local -x MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
  # A budget is shared out among tests that run one by one.
  "$ctest" --test-dir "build/$name" --output-on-failure --no-tests=error -j "$([ -n "$long" ] && echo 1 || echo "$at_once")" "$@" || return
  told "$name"
}
# How much of the matrix was run; ctest does not print the output of a test that passed.
told() {
  if [ -n "$long" ]; then grep -h "^full matrix: .* of .* cases" "build/$1/Testing/Temporary/LastTest.log"; fi
}

# A sample of the other builds: the tests of shared and contended data. Barriers move none: they are for the thread sanitizer.
# How deaths and mismatches are told is processes' matter, of which it sees little. --long runs all tests in both.
sanitizers=(thread address,undefined)
declare -A sample=([thread]="test_barrier_correctness test_collectives test_messages test_nonblocking test_parking test_split"
  [address,undefined]="test_collectives test_groups test_messages")
# Without the cases that repeat others at greater length, or wait.
sampled="-Collectives.OfRanksThatShareCpus:Collectives.ThroughTheLevels*:MessagesOfTheDead.*:*AreHalfTakenWhereAHandlerThrows:*\
SeveralOfTheLargest*:*TheLargestOnes*:*ManyOneWayAndThen*:*ATestTellsOfAMessageThatDoesNotFit*:*DeathOfTwoNeighbours*:*HundredsOfRanks*:\
Split.*Hundreds:Split.*Thousand*"
sampled_episodes=8  # not 5, by which the test knows ranks that spin
with_bench=OFF
if [ -n "$long" ]; then
  sample=()
  with_bench=ON
fi
# The tests take half of the CPUs' time, as most of them wait. The sanitizers' programs are compiled in the other half: in the
# idle class, which runs only where nothing else would.
build_sanitized() {
  in_idle_class
  local sanitizer
  for sanitizer in "${sanitizers[@]}"; do
    # shellcheck disable=SC2086
    build "san-$sanitizer" ${sample[$sanitizer]:-} -- -DPHICOLL_SANITIZE="$sanitizer" -DPHICOLL_BUILD_BENCH="$with_bench"
  done
}
test_sanitized() {
  if [ -z "$long" ]; then local -x GTEST_FILTER=$sampled PHICOLL_TEST_EPISODES=$sampled_episodes; fi
  TSAN_OPTIONS=halt_on_error=1 run_ctest "san-$1" ${sample[$1]:+-R "^(${sample[$1]// /|})$"}
}

# pytest compiles the tests, and phicoll as it is a plugin's, in a manner of its own: once, for all workers and for the
# runs of pytest in tests. Where the environment forbids to keep what was compiled, each would do it again.
unset PYTHONDONTWRITEBYTECODE
compile_tests() {
  in_idle_class
  .venv/bin/python -m pytest -q --collect-only -p no:xdist
}

# in_idle_class: what this shell does from now on runs only where nothing else would.
in_idle_class() { chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID" >/dev/null; }
# The site, warnings as errors. --long writes it and follows its links; else it is read and resolved only, half of the work.
check_docs() {
  in_idle_class
  if [ -n "$long" ]; then exec make --no-print-directory docs; fi
  exec .venv/bin/python -m sphinx -b dummy -W --keep-going -q -E -d build/doctrees-read docs build/docs-read
}

# The library without Python, installed, used by a project outside.
check_installed() {
  local pc flags component left installed=build/main
  rm -rf build/prefix
  # Configured as it is without Python. The objects would be those of build/main, which is installed in its place; --long
  # compiles them again, each source alone.
  local plain=(-DPHICOLL_BUILD_TESTS=OFF)
  if [ -n "$long" ]; then
    installed=build/plain
    build plain -- "${plain[@]}" -DPHICOLL_BY_FOLDER=OFF
    "$cmake" --install build/plain --prefix "$PWD/build/prefix" >>build/plain.log
  else
    "$cmake" -S . -B build/plain -G Ninja "${plain[@]}" >build/plain.log
    for component in development Unspecified; do
      "$cmake" --install build/main --component "$component" --prefix "$PWD/build/prefix" >>build/plain.log
    done
  fi
  "$cmake" -S tests/package -B build/package -G Ninja -DCMAKE_PREFIX_PATH="$PWD/build/prefix" >build/package.log
  "$cmake" --build build/package >>build/package.log
  build/package/meet
  if command -v pkg-config >/dev/null; then
    pc=$(find "$PWD/build/prefix" -name phicoll.pc)
    read -ra flags < <(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs phicoll)
    g++ -std=c++14 tests/package/meet.cpp "${flags[@]}" -o build/package/meet-by-pkg-config
    build/package/meet-by-pkg-config
    read -ra flags < <(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs phicoll-shmem)
    gcc -std=c11 tests/package/ring.c "${flags[@]}" -o build/package/ring-by-pkg-config
  fi
  # OpenSHMEM from the installation: by CMake and by the wrapper.
  build/prefix/bin/oshrun -n 2 build/package/ring
  build/prefix/bin/oshcc -O2 tests/package/ring.c -o build/package/ring-by-oshcc
  build/prefix/bin/oshrun -n 2 build/package/ring-by-oshcc
  build/prefix/bin/phicoll-bench --version
  "$cmake" --build "$installed" --target uninstall >>build/plain.log
  left=$(find build/prefix -type f -o -path '*/phicoll')
  [ -z "$left" ] || { echo "uninstall left $left" && return 1; }
}

mkdir -p build
step "style; C++: build and ctest"
build_sanitized &
compiling=$!
compile_tests >build/collect.log 2>&1 &
collecting=$!
check_docs >build/docs.log 2>&1 &
checking=$!
scripts/style.sh >build/style.log 2>&1 &
styling=$!
trap 'pkill -g 0 -x ninja || true; kill $checking $collecting $styling 2>/dev/null || true' EXIT  # where a test has failed
build main --  # the tree that the package was built in
wait "$styling" || {
  cat build/style.log
  exit 1
}
cat build/style.log
if [ -n "$long" ]; then export PHICOLL_TEST_LONG=1; fi
share 50
run_ctest main ${long:+-LE fallbacks} || failed+=("C++ tests")  # the full matrix is walked in a build of its own below

step "Python: pytest, the notebook among them"
wait "$collecting" || true  # pytest says itself what it cannot collect
# Three at a time, as much of a test is waiting; a file's tests in order; tests/conftest.py puts the files that take longest first.
chosen=(-m "not long")
[ -z "$long" ] || chosen=()
.venv/bin/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --durations=12 "${chosen[@]}" || failed+=("Python tests")

step "sanitizers: ${sanitizers[*]}; the library without Python, installed, used by a project outside"
wait "$compiling" || {
  echo "the sanitizers' programs were not built: the compiler's words are above, and in build/san-*.log"
  exit 1
}
if [ -n "$long" ]; then
  share 14
  for sanitizer in "${sanitizers[@]}"; do test_sanitized "$sanitizer" || failed+=("$sanitizer"); done
fi
check_installed >build/installed.log 2>&1 &
installing=$!
trap 'kill $checking $installing 2>/dev/null || true' EXIT
if [ -z "$long" ]; then
  at_once=2  # of each
  test_sanitized "${sanitizers[0]}" >"build/san-${sanitizers[0]}-tests.log" 2>&1 &
  testing=$!
  test_sanitized "${sanitizers[1]}" || failed+=("${sanitizers[1]}")
  wait "$testing" || failed+=("${sanitizers[0]}")
  cat "build/san-${sanitizers[0]}-tests.log"
fi
wait "$installing" || failed+=("the installed library")
cat build/installed.log
if [ -n "$long" ]; then
  step "all fallbacks forced"
  share 12
  build fallbacks -- -DPHICOLL_FORCE_FALLBACKS=ON -DPHICOLL_BUILD_BENCH=ON -DPHICOLL_WITH_HWLOC=OFF
  run_ctest fallbacks || failed+=("fallbacks")
  step "aarch64 under QEMU (weak ordering is not tested there; cross-process copy falls back)"
  share 10
  code=0
  tests/aarch64.sh build/aarch64 || code=$?
  case $code in
    0) told aarch64 ;;
    77) ;; # not installed, as it said
    *) exit $code ;;
  esac
  step "mpi4py's own tests of the collectives"
  code=0
  tests/mpi4py.sh build/mpi4py 4 || code=$?
  [ $code = 0 ] || [ $code = 77 ] || exit $code
  step "the card's program, by a stand-in for its compiler (nothing of it is run)"
  tests/k1om_stand_in.sh build/k1om-stand-in >build/k1om-stand-in.log
fi
step "the documentation's site"
wait "$checking" || {
  tail -40 build/docs.log
  failed+=("documentation")
}
trap - EXIT
if [ "${#failed[@]}" != 0 ]; then
  step "failed: $(IFS=,; echo "${failed[*]}")"
  tell_times
  exit 1
fi
step "all passed"
tell_times
