#!/usr/bin/env bash
# usage: tests/openmp_suite.sh FOLDER [-c COMPILER] [-l "LINK FLAGS"] [-f "FLAGS"] [-t SECONDS] [-n THREADS]
# Compiles each C program of an OpenMP test suite that lies on disk, runs it without phicoll and with `phicoll omp` of the
# PATH, and prints which are worse with it. A program passes if it ends with status 0 in time. -c: gcc by default; -l: instead of
# -fopenmp when linking, for another runtime than the compiler's; -n: OMP_NUM_THREADS.
set -u
folder=${1:?"a folder"}
shift
compiler=gcc link=-fopenmp flags="" seconds=60 threads=4
while [ $# -gt 1 ]; do
  case $1 in
    -c) compiler=$2 ;;
    -l) link=$2 ;;
    -f) flags=$2 ;;
    -t) seconds=$2 ;;
    -n) threads=$2 ;;
  esac
  shift 2
done
export OMP_NUM_THREADS=$threads
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
both=0 neither=0 worse=0 better=0 uncompiled=0 alone=0
while read -r source; do
  # shellcheck disable=SC2086
  if ! $compiler -O1 -w -fopenmp -I"$folder" -I"$(dirname "$source")" $flags -c "$source" -o "$work/o" >"$work/log" 2>&1 ||
    ! $compiler "$work/o" -o "$work/program" $link -lm -pthread >"$work/log" 2>&1; then
    uncompiled=$((uncompiled + 1))
    continue
  fi
  timeout -k 5 "$seconds" "$work/program" >"$work/plain" 2>&1 </dev/null
  plain=$?
  timeout -k 5 "$seconds" phicoll omp -- "$work/program" >"$work/with" 2>&1 </dev/null
  with=$?
  ! grep -q "stay with its runtime" "$work/with" || alone=$((alone + 1))
  if [ $plain = 0 ] && [ $with = 0 ]; then
    both=$((both + 1))
  elif [ $plain = 0 ]; then
    worse=$((worse + 1))
    echo "WORSE $source: status $with ($(tail -n 1 "$work/with" | tr -d '\0' | cut -c 1-150))"
  elif [ $with = 0 ]; then
    better=$((better + 1))
  else
    neither=$((neither + 1))
  fi
done < <(find "$folder" -name '*.c' | sort)
echo "$both pass both ways ($alone programs were left alone), $worse are worse with phicoll, $better better, $neither fail both ways," \
  "$uncompiled do not compile"
[ $worse = 0 ]
