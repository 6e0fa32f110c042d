#!/usr/bin/env bash
# mpi4py's own tests against phicoll.MPI: tests/mpi4py.sh BUILD_DIRECTORY [RANKS [TEST...]]. $MPI4PY is a checkout of mpi4py;
# without it, its source comes from PyPI. Uses $PYTHON, by default .venv's. Exit status 77 where the source cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?a directory for the source}
ranks=${2:-3}
version=4.1.1
python=${PYTHON:-.venv/bin/python}
mkdir -p "$build"
source=${MPI4PY:-$build/mpi4py-$version}
if [ ! -d "$source/test" ]; then
  "$python" -m pip download -q --no-deps --no-binary mpi4py "mpi4py==$version" -d "$build" || exit 77
  tar -C "$build" -xf "$build/mpi4py-$version.tar.gz"
fi
"$python" -m phicoll.launch --as-mpi4py -n "$ranks" tests/mpi4py_adapter.py "$source/test" "${@:3}"
