#!/usr/bin/env bash
# Configures (when needed) and builds a preset: build.sh [PRESET] [TARGET...]. JOBS sets the number of compile jobs.
source "$(dirname "$0")/lib.sh"

preset=${1:-release}
shift || true
case $preset in
  release) folder=build ;;
  debug) folder=build-debug ;;
  asan-ubsan) folder=build-asan ;;
  asan-ubsan-torch) folder=build-asan-torch ;;
  tsan) folder=build-tsan ;;
  fuzz) folder=build-fuzz ;;
  *) fail "preset: expected release, debug, asan-ubsan, asan-ubsan-torch, tsan or fuzz, got $preset" ;;
esac

# A file that includes the headers of LibTorch takes about 2 GB to compile.
if [[ -z ${JOBS:-} ]]; then
  by_memory=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) / 2000000))
  JOBS=$(nproc)
  ((JOBS > by_memory)) && JOBS=$by_memory
  ((JOBS < 1)) && JOBS=1
fi

python=$(cat "$state/python" 2>/dev/null || command -v python3)
key="$PWD $preset $python $(cksum <CMakePresets.json)"
if [[ ! -f $folder/build.ninja || $(cat "$folder/configured" 2>/dev/null) != "$key" ]]; then
  say "configuring $folder (preset $preset)"
  mkdir -p "$folder"
  # What another interpreter or source folder left in the cache is of no use.
  quietly "$folder/configure.log" cmake --preset "$preset" --fresh -DPython3_EXECUTABLE="$python"
  printf '%s\n' "$key" >"$folder/configured"
fi

say "building $folder with $JOBS jobs"
# Precompiled headers go through ccache only with these allowances.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
ninja -C "$folder" -j "$JOBS" "$@"
