#!/usr/bin/env bash
# mpi4py's own tests of the collectives and messages, from its source on PyPI, against phicoll.Comm: tests/mpi4py.sh BUILD_DIRECTORY [RANKS].
# Uses $PYTHON, by default .venv's. Exit status 77 where the source cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?a directory for the source}
ranks=${2:-3}
version=4.1.1
python=${PYTHON:-.venv/bin/python}
mkdir -p "$build"
if [ ! -d "$build/mpi4py-$version/test" ]; then
  "$python" -m pip download -q --no-deps --no-binary mpi4py "mpi4py==$version" -d "$build" || exit 77
  tar -C "$build" -xf "$build/mpi4py-$version.tar.gz"
fi
"$python" -m phicoll.launch --as-mpi4py -n "$ranks" tests/mpi4py_adapter.py "$build/mpi4py-$version/test"
