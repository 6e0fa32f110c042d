#!/bin/sh
# Builds phicoll-bench, oshrun and libphicoll-shmem.a through the card's GCC toolchain file with a stand-in for its compiler: the
# host's GCC under the cross compiler's name, with its macros, and with no more than C++14, as GCC 5.1 has it.
#   tests/k1om_stand_in.sh [BUILD_FOLDER]
# What this shows: the toolchain file works, and nothing that the card gets needs more than C++14 (-pedantic-errors) or
# sources that are for hosts only. What it does not: that GCC 5.1.1 compiles it. The program is not run, so it is compiled
# without optimizing, in about a minute of CPU time (EPYC, family 25, model 17).
set -eu
source_folder=$(cd "$(dirname "$0")/.." && pwd)
build_folder=${1:-$source_folder/build-k1om-stand-in}

tools=$build_folder/mpss/sysroots/x86_64-mpsssdk-linux/usr/bin/k1om-mpss-linux
mkdir -p "$tools" "$build_folder/mpss/sysroots/k1om-mpss-linux"
for compiler in gcc g++; do
  cat >"$build_folder/compiler" <<EOF
#!/bin/bash
arguments=()
for argument in "\$@"; do
  case \$argument in
    --sysroot=*) ;;                          # there is none
    -std=c++17 | -std=c++20) arguments+=(-std=c++14 -pedantic-errors) ;;
    -std=c++14) arguments+=(-std=c++14 -pedantic-errors) ;;
    *) arguments+=("\$argument") ;;
  esac
done
exec $compiler -D__KNC__ -D__k1om__ "\${arguments[@]}"
EOF
  chmod +x "$build_folder/compiler"
  # One that is the same keeps its time, by which build tools and compiler caches know a compiler.
  cmp -s "$build_folder/compiler" "$tools/k1om-mpss-linux-$compiler" ||
    mv "$build_folder/compiler" "$tools/k1om-mpss-linux-$compiler"
done

cmake -S "$source_folder" -B "$build_folder" \
      -DCMAKE_TOOLCHAIN_FILE="$source_folder/cmake/toolchains/k1om-gcc.cmake" -DMPSS_ROOT="$build_folder/mpss" \
      -DPHICOLL_WITH_HWLOC=OFF -DPHICOLL_WITH_BOOST=OFF -DPHICOLL_WARNINGS_AS_ERRORS=ON \
      -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0
cmake --build "$build_folder" --parallel "$(nproc)" --target phicoll-bench phicoll_shmem_static oshrun
