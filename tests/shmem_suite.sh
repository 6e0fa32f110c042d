#!/usr/bin/env bash
# usage: tests/shmem_suite.sh FOLDER [-n "2 4"] [-t SECONDS] [-f "FLAGS"] [-s "SOURCES"] [-a "ARGUMENTS"] [-r RUNNER] [PATTERN]
# Compiles each program of an OpenSHMEM test suite that lies on disk (*.c, *.cpp and *.cc in FOLDER and below) with oshcc and
# oshc++ of the PATH, runs it with oshrun at each number of PEs, and prints what passed and failed. A program passes if it
# compiles and ends with status 0 in time. -f: more flags for the compiler; -s: sources that each program is linked with; -a: the
# programs' arguments; -r: what runs a program, instead of oshrun; PATTERN: names.
set -u
folder=${1:?"a folder"}
shift
pes="2 4" seconds=60 flags="" sources="" arguments="" runner=oshrun pattern="*"
while [ $# -gt 0 ]; do
  case $1 in
    -n) pes=$2 && shift 2 ;;
    -t) seconds=$2 && shift 2 ;;
    -f) flags=$2 && shift 2 ;;
    -s) sources=$2 && shift 2 ;;
    -a) arguments=$2 && shift 2 ;;
    -r) runner=$2 && shift 2 ;;
    *) pattern=$1 && shift ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
while read -r source; do
  name=${source#"$folder"/}
  compiler=oshcc
  case $name in *.cpp | *.cc) compiler=oshc++ ;; esac
  # shellcheck disable=SC2086
  if ! $compiler -O2 -w -I"$folder" $flags "$source" $sources -o "$work/program" -lm -pthread >"$work/log" 2>&1; then
    echo "FAIL $name: does not compile: $(grep -m1 -E 'error|undefined' "$work/log")"
    failed=$((failed + 1))
    continue
  fi
  wrong=
  for n in $pes; do
    # shellcheck disable=SC2086
    (cd "$work" && timeout -k 5 "$seconds" $runner -n "$n" ./program $arguments >"$work/log" 2>&1 </dev/null)
    code=$?
    [ $code = 0 ] || wrong="$wrong $n PEs: status $code ($(tail -n 1 "$work/log" | tr -d '\0' | cut -c 1-150));"
  done
  if [ -n "$wrong" ]; then
    echo "FAIL $name:$wrong"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
done < <(find "$folder" -type f \( -name "$pattern.c" -o -name "$pattern.cpp" -o -name "$pattern.cc" \) | sort)
echo "$folder: $passed passed, $failed failed"
[ $failed = 0 ]
