#!/usr/bin/env bash
# The torch-free C++ tests under the address and undefined-behaviour sanitizers, the kernels' for AVX3 and AVX2; then
# under the thread sanitizer those that run on a pool (with Parallel or Thread in their name), for AVX2. FULL=1: every C++
# test and target under the former, every torch-free one under the latter. Then the fuzz targets, FUZZ_SECONDS each. The
# last line sums up all of it; after a failure of a fuzz target it names the file of the input.
source "$(dirname "$0")/lib.sh"

full=
if [[ -n ${FULL:-} && $FULL != 0 ]]; then full=1; fi
jobs=${JOBS:-$(nproc)}
export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

summary=
status=0
# tests_under PRESET TESTS: builds a preset, runs a preset of its tests and adds their count to the summary.
tests_under() {
  bash scripts/build.sh "$1" cpp_tests
  say "running the C++ tests under $1"
  local log=$state/$1.log
  ctest --preset "$2" -j "$jobs" 2>&1 | tee "$log" || status=1
  summary+="; $1: $(grep -E 'tests? passed, [0-9]+ tests? failed out of' "$log" || echo 'ctest did not finish')"
}
if [[ -n $full ]]; then
  bash scripts/setup-python.sh
  tests_under asan-ubsan-torch asan-ubsan-torch
  tests_under tsan tsan-full
else
  tests_under asan-ubsan asan-ubsan
  tests_under tsan tsan
fi
fuzz_log=$state/fuzz.log
bash scripts/fuzz.sh 2>&1 | tee "$fuzz_log" || status=1
summary+="; $(tail -n 1 "$fuzz_log" | sed 's/^longspan: //')"
say "sanitizers${summary/;/:}"
exit $status
