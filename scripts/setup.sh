#!/usr/bin/env bash
# Installs what is missing: system packages through apt where that is allowed, Python packages in .venv.
# usage: scripts/setup.sh [--tools] [demo|test|test-long|docs|programs]
# --tools: only what building phicoll takes. The rest can be installed during the build.
# What is required and cannot be had ends the script with the command to run by hand; what is optional is skipped with a word.
set -euo pipefail
cd "$(dirname "$0")/.."
only_tools=
if [ "${1:-}" = --tools ]; then only_tools=yes && shift; fi
purpose=${1:-demo}

present() {
  case "$1" in
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# command or file to look for | Debian and Ubuntu package | what goes without it (empty: required)
needed=(
  "g++|g++|"
  "git|git|"
  "make|make|"
  "python3|python3|"
  "/usr/include/hwloc.h|libhwloc-dev|the topology is read from sysfs"
)
case "$purpose" in
  test*)
    needed+=(
      "/usr/include/gtest/gtest.h|libgtest-dev|"
      "/usr/include/Zydis/Zydis.h|libzydis-dev|the Xeon Phi's instructions are not decoded and run"
    )
    ;;
esac
if [ -z "$only_tools" ]; then
  needed+=("/usr/lib/llvm-*/lib/libomp.so*|libomp-dev|libomp is not among the references")
  if [ "$purpose" != demo ]; then needed+=("doxygen|doxygen|"); fi
  case "$purpose" in
    test*)
      untried="measuring on another host is not tried"
      needed+=("objdump|binutils|" "ssh|openssh-client|$untried")
      # Where services run, the package would start one that listens: that is for the machine's owner to do.
      if [ ! -d /run/systemd/system ]; then
        needed+=("/usr/sbin/sshd|openssh-server|$untried")
      elif ! present /usr/sbin/sshd; then
        echo "setup: without openssh-server $untried; its package starts a server, so it is not installed from here"
      fi
      ;;
  esac
  if [ "$purpose" = test-long ]; then
    needed+=(
      "aarch64-linux-gnu-g++|g++-aarch64-linux-gnu|no tests for aarch64"
      "qemu-aarch64|qemu-user|no tests for aarch64"
      "/usr/src/googletest/CMakeLists.txt|googletest|no tests for aarch64"
    )
  fi
fi
# newest_package PATTERN: the package of the highest version in its name, or the pattern itself.
newest_package() { { apt-cache pkgnames 2>/dev/null | grep -xE "$1" || echo "$1"; } | sort -V | tail -n 1; }
if [ "$purpose" = programs ]; then
  needed=(
    "lmp|lammps|LAMMPS is left out"
    "gmx_mpi|gromacs|GROMACS is left out"
    "pw.x|quantum-espresso|Quantum ESPRESSO is left out"
    "/usr/share/espresso/pseudo/Si.pz-vbc.UPF|quantum-espresso-data|Quantum ESPRESSO is left out"
    "hpcc|hpcc|HPCC is left out"
    "primecount|primecount|primecount is left out"
    "mpiexec.openmpi|openmpi-bin|all programs of an MPI are left out"
    "mpicc.openmpi|libopenmpi-dev|PETSc's example is left out"
    "pkg-config|pkg-config|PETSc's example is left out"
    "/usr/lib/petscdir/*|petsc-dev|PETSc's example is left out"
    "/usr/share/petsc/*/share/petsc/examples|$(newest_package 'libpetsc[0-9.]*-dev-examples')|PETSc's example is left out"
    "/usr/lib/llvm-*/lib/libomp.so*|libomp-dev|primecount under libomp is left out"
  )
fi

python_can_make_environments() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

packages=()
for line in "${needed[@]}"; do
  IFS='|' read -r what package _ <<<"$line"
  present "$what" || packages+=("$package")
done
python_can_make_environments || packages+=("python3-venv")
# The extension needs the interpreter's own headers.
python3 -c 'import os, sysconfig; raise SystemExit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' \
  2>/dev/null || packages+=("python3-dev")

if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then
    as_root=()
  elif sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    as_root=(false)
  fi
  command="apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 ${packages[*]}"
  if command -v apt-get >/dev/null && [ "${as_root[*]:-}" != false ]; then
    echo "setup: $command"
    export DEBIAN_FRONTEND=noninteractive
    # With the lists of packages that are there, and anew if that fails, as it does without any. One at a time when all together
    # fail, so that an optional one that is missing does not cost the others.
    # shellcheck disable=SC2086
    "${as_root[@]}" $command -qq >/dev/null 2>&1 || {
      "${as_root[@]}" apt-get update -qq || echo "setup: apt-get update failed; trying with what is known"
      "${as_root[@]}" $command -qq >/dev/null 2>&1
    } || for package in "${packages[@]}"; do
      "${as_root[@]}" apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$package" >/dev/null 2>&1 || true
    done
  else
    echo "setup: these packages are missing and may not be installed from here; run: sudo $command"
  fi
  missing=0
  for line in "${needed[@]}"; do
    IFS='|' read -r what package without <<<"$line"
    present "$what" && continue
    if [ -n "$without" ]; then
      echo "setup: without $package $without"
    else
      echo "setup: $package is required; run: sudo apt-get install $package" >&2
      missing=1
    fi
  done
  if ! python_can_make_environments; then
    echo "setup: python3-venv is required; run: sudo apt-get install python3-venv" >&2
    missing=1
  fi
  [ $missing = 0 ] || exit 1
fi

if [ "$purpose" = programs ]; then exit 0; fi

# Python packages: what builds the extension, what phicoll needs, and for the tests what they need.
stamp=.venv/.setup-$purpose
if [ -n "$only_tools" ]; then stamp=.venv/.setup-tools; fi
if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ] || [ scripts/setup.sh -nt "$stamp" ]; then
  [ -x .venv/bin/python ] || python3 -m venv .venv
  # --no-compile: what is never imported need not be compiled to byte code, which took half of the time.
  pip=(.venv/bin/python -m pip --disable-pip-version-check)
  mapfile -t packages < <(.venv/bin/python - "$purpose" "$only_tools" <<'PY'
import sys
try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
extras = project["project"]["optional-dependencies"]

def packages(extra):
    """Of an extra; those of phicoll[a,b] are the extras' own."""
    for wanted in extras[extra]:
        if wanted.startswith("phicoll["):
            for name in wanted.removeprefix("phicoll[").removesuffix("]").split(","):
                yield from packages(name)
        else:
            yield wanted

# With NumPy: scikit-build-core imports it if it is there, and while it is being installed it is there in part.
needed = project["project"]["dependencies"]
wanted = project["build-system"]["requires"] + ["cmake>=3.18", "ninja"]
wanted += [package for package in needed if not sys.argv[2] or package.startswith("numpy")]
if not sys.argv[2]:
    for extra in {"demo": ["all"], "docs": ["docs"]}.get(sys.argv[1], ["test", "docs"]):
        wanted += packages(extra)
    if sys.argv[1] == "demo":  # for benchmarks/
        wanted += [package for package in extras["test"] if package.startswith("pytest>")]
print("\n".join(wanted))
PY
)
  echo "setup: Python packages in .venv${only_tools:+: those that building phicoll takes}"
  # uv takes 4 s of CPU time where pip takes 32. It reads none of pip's settings: those of the index are handed on.
  uv=(env UV_NO_CONFIG=1 UV_LINK_MODE=copy)
  while read -r setting value; do
    case "$setting" in
      index-url) uv+=("UV_DEFAULT_INDEX=$value") ;;
      find-links) uv+=("UV_FIND_LINKS=${value// /,}") ;;
      constraint) uv+=("UV_CONSTRAINT=$value") ;;
      cert) uv+=("SSL_CERT_FILE=$value") ;;
    esac
  done < <("${pip[@]}" config list | sed -nE "s/^[a-z:]+\\.([a-z-]+)='(.*)'$/\\1 \\2/p")
  uv+=(.venv/bin/uv pip install -q --python .venv/bin/python)
  # install PACKAGES...: by uv, or by pip where uv is not to be had or cannot.
  install() {
    { [ -x .venv/bin/uv ] || "${pip[@]}" install -q --no-compile uv; } 2>/dev/null && "${uv[@]}" "$@" 2>/dev/null ||
      "${pip[@]}" install -q --no-compile "$@"
  }
  install "${packages[@]}"
  if [ -n "$only_tools" ]; then
    touch "$stamp"
    exit
  fi
  # Intel's OpenMP is a reference only; the demo does without it.
  install intel-openmp 2>/dev/null || echo "setup: without intel-openmp libiomp5 is not among the references"
  # What is imported again and again, in each rank and command, is compiled once even where the environment forbids writing
  # byte code: an import of NumPy takes 90 ms then, and 250 otherwise.
  for module in numpy cloudpickle pandas matplotlib.pyplot scipy.stats pytest; do
    env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c "import $module" 2>/dev/null || true
  done
  touch "$stamp"
  case "$purpose" in test*) touch .venv/.setup-demo .venv/.setup-docs ;; esac  # the tests' packages hold the others'
fi
