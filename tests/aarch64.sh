#!/bin/sh
# Cross-compiles the core for 64-bit ARM and runs its C++ tests under QEMU's user mode.
#   [PHICOLL_TEST_LONG=1 PHICOLL_TEST_BUDGET_S=240] tests/aarch64.sh [BUILD_FOLDER]          (Debian: g++-aarch64-linux-gnu qemu-user googletest cmake ninja-build)
# What this shows: the source is portable, and aarch64.hpp's instructions exist and do what they say. What it does not:
# weak memory ordering. QEMU runs ARM code as x86 code, whose stores stay in order, so a missing barrier goes unseen.
# Under QEMU cross-process copy and membarrier fall back, and robust mutexes do not notice a death (those tests are left out).
set -eu
source_folder=$(cd "$(dirname "$0")/.." && pwd)
build_folder=${1:-$source_folder/build-aarch64}

missing=
command -v aarch64-linux-gnu-g++ >/dev/null || missing="$missing g++-aarch64-linux-gnu"
command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null || missing="$missing qemu-user"
[ -f /usr/src/googletest/CMakeLists.txt ] || missing="$missing googletest"
if [ -n "$missing" ]; then
  echo "tests/aarch64.sh: not installed; get it with: apt-get install$missing" >&2
  exit 77   # "skipped", as automake and Meson count
fi

cmake -S "$source_folder" -B "$build_folder" \
      -DCMAKE_TOOLCHAIN_FILE="$source_folder/cmake/toolchains/aarch64-linux-gnu.cmake" \
      -DPHICOLL_BUILD_TESTS=ON -DPHICOLL_WITH_HWLOC=OFF -DPHICOLL_WITH_BOOST=OFF -DPHICOLL_WARNINGS_AS_ERRORS=ON
cmake --build "$build_folder" --parallel "$(nproc)"
cd "$build_folder"
ctest --output-on-failure
