#!/usr/bin/env bash
# Layout and lint of both languages; clang-format and ruff decide.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files 'src/cpp/*.hpp' 'src/cpp/*.cpp' 'src/cpp/*.h' 'tests/cpp/*.hpp' 'tests/cpp/*.cpp' 'tests/shmem/*.h' \
  'tests/shmem/*.c' 'tests/shmem/*.cpp' 'tests/mpi/*.c' 'tests/mpi/*.h' | xargs .venv/bin/clang-format --dry-run --Werror
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/ruff --version
echo "style: ok"
