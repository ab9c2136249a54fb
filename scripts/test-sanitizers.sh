#!/usr/bin/env bash
# The C++ tests under the address and undefined-behaviour sanitizers, then under the thread sanitizer those of the
# torch-free part that run on a pool: the ones with Parallel or Thread in their name. FULL=1: also the tests with the label
# `slow`, and every torch-free test under the thread sanitizer. The last line sums up both.
source "$(dirname "$0")/lib.sh"

suffix=
if [[ -n ${FULL:-} && $FULL != 0 ]]; then suffix=-full; fi
jobs=${JOBS:-$(nproc)}
export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

summary=
status=0
# tests_under PRESET: builds the tests, runs them and adds their count to the summary.
tests_under() {
  bash scripts/build.sh "$1" cpp_tests
  say "running the C++ tests under $1"
  local log=$state/$1.log
  ctest --preset "$1$suffix" -j "$jobs" 2>&1 | tee "$log" || status=1
  summary+="; $1: $(grep -E 'tests? passed, [0-9]+ tests? failed out of' "$log" || echo 'ctest did not finish')"
}
tests_under asan-ubsan
tests_under tsan
say "sanitizers${summary/;/:}"
exit $status
