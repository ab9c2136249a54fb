# Shared by the scripts beside it: strict mode, the repository root as working folder, one-line messages.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

state=build/setup   # what set-up remembers between runs
mkdir -p "$state"

say() { printf 'longspan: %s\n' "$*"; }
fail() {
  printf 'longspan: %s\n' "$*" >&2
  exit 1
}

# quietly LOG COMMAND...: runs the command with its output in LOG; when it fails, shows the end of the log and stops.
quietly() {
  local log=$1
  shift
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail "failed: $* (whole output: $log)"
  fi
}
