#!/usr/bin/env bash
# Layout and lint of both languages; clang-format and ruff decide.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files 'src/cpp/*.hpp' 'src/cpp/*.cpp' 'tests/cpp/*.hpp' 'tests/cpp/*.cpp' | xargs .venv/bin/clang-format --dry-run --Werror
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/ruff --version
echo "style: ok"
