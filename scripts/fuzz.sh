#!/usr/bin/env bash
# Fuzzes the readers of foreign bytes: fuzz.sh [TARGET...], each for FUZZ_SECONDS (default 60; 0: the corpus alone), two at
# a time. The corpora of fuzz/corpus/ are not written to: what is found on the way gathers in build-fuzz/corpus/. The last
# line says how it went, and after a failure which target failed and where the input is.
source "$(dirname "$0")/lib.sh"

seconds=${FUZZ_SECONDS:-60}
[[ $seconds =~ ^[0-9]{1,6}$ ]] || fail "FUZZ_SECONDS: expected a number of seconds, got $seconds"
known=$(cd fuzz/corpus && echo *)
targets=("$@")
((${#targets[@]})) || read -r -a targets <<<"$known"
for name in "${targets[@]}"; do
  [[ " $known " == *" $name "* ]] || fail "fuzz: expected one of $known, got $name"
done

bash scripts/build.sh fuzz fuzzers
export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
# Inputs become files: in memory where the system has a place for that.
memory=/dev/shm
[[ -d $memory && -w $memory ]] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$memory/longspan-fuzz.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

folder=build-fuzz
mkdir -p "$folder/found"
limit=(-max_total_time="$seconds")
if ((10#$seconds == 0)); then limit=(-runs=0); fi

# fuzz TARGET: exit status of the fuzzer; its output is in build-fuzz/TARGET.log.
fuzz() {
  mkdir -p "$folder/corpus/$1"
  "$folder/bin/fuzz_$1" "${limit[@]}" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
    -dict=fuzz/dictionary.txt -artifact_prefix="$folder/found/$1-" "$folder/corpus/$1" "fuzz/corpus/$1" \
    >"$folder/$1.log" 2>&1
}

say "fuzzing ${targets[*]}, $seconds s each"
failed=()
runs=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  pids=()
  for name in "${targets[@]:i:2}"; do
    fuzz "$name" &
    pids+=($!)
  done
  for ((j = 0; j < ${#pids[@]}; ++j)); do
    wait "${pids[j]}" || failed+=("${targets[i + j]}")
  done
done
for name in "${targets[@]}"; do
  runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log" | grep . || echo 0)))
done

if ((${#failed[@]} == 0)); then
  say "fuzz: ${#targets[@]} targets clean, $runs runs"
  exit 0
fi
summary=
for name in "${failed[@]}"; do
  grep -m 1 -E 'ERROR: |runtime error: |not so: |terminate called' "$folder/$name.log" >&2 || tail -n 5 "$folder/$name.log" >&2
  input=$(sed -n 's/.*Test unit written to //p' "$folder/$name.log" | tail -n 1)
  summary+="; $name failed on ${input:-no input of its own, see $folder/$name.log}"
done
fail "fuzz$(printf '%s' "$summary" | sed 's/^;/:/')"
