#!/usr/bin/env bash
# Builds phicoll and installs it in .venv. Prints how far the compiler is; build/build.log has all that was said.
# usage: scripts/build.sh [pip's options, such as -C cmake.define.PHICOLL_BUILD_TESTS=ON]
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/build.log
mkdir -p build

# Of ninja's lines, such as "[12/345] Building CXX object src/.../ring.cpp.o": on a terminal one line that is drawn anew,
# elsewhere a line every ten seconds.
progress() {
  local line shown next=0
  while IFS= read -r line; do
    [[ $line =~ \[[0-9]+/[0-9]+\]\ (Building|Linking)\ .* ]] || continue
    shown="build: ${BASH_REMATCH[0]%% *} ${line##*[/ ]}, $SECONDS s"
    if [ -t 1 ]; then
      printf '\r\e[K%s' "${shown:0:79}"
    elif [ "$SECONDS" -ge "$next" ]; then
      printf '%s\n' "$shown"
      next=$((SECONDS + 10))
    fi
  done
  if [ -t 1 ]; then printf '\r\e[K'; fi
}

.venv/bin/python -m pip --disable-pip-version-check install -v --no-build-isolation --no-deps --force-reinstall \
  -C build-dir=build/main "$@" . 2>&1 | tee "$log" | progress || {
  tail -40 "$log"
  exit 1
}
echo "build: phicoll is in .venv, after $SECONDS s"
