#!/usr/bin/env bash
# Builds the torch-free part with the address and undefined-behaviour sanitizers and runs its tests.
source "$(dirname "$0")/lib.sh"

bash scripts/build.sh asan-ubsan
say "running the torch-free tests under the sanitizers"
export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
ctest --preset asan-ubsan -j "${JOBS:-$(nproc)}"
