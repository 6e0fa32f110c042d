#!/usr/bin/env bash
# shmem4py's own tests, from its source, against phicoll.shmem: tests/shmem4py.sh FOLDER [PES]. FOLDER is a checkout of
# https://github.com/mpi4py/shmem4py. Uses $PYTHON, by default .venv's.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?a checkout of shmem4py}
"${PYTHON:-.venv/bin/python}" -m phicoll.launch --as-shmem4py -n "${2:-2}" tests/shmem4py_adapter.py "$folder/test"
