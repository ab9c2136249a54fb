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

# fetch_package PACKAGE: unpacks it into build/document-packages/PACKAGE, with its version in the file VERSION. $work: a folder
# to work in.
fetch_package() {
  local package=$1
  if [[ -f build/document-packages/$package/VERSION ]]; then return; fi
  say "fetching the Debian package $package"
  rm -rf "$work/$package"
  mkdir -p "$work/$package" build/document-packages
  if ! (cd "$work/$package" && apt-get download "$package") >"$state/documents.log" 2>&1; then
    # Without package lists nothing is found; only root may fetch them.
    if ((EUID == 0)); then apt-get update >"$state/apt.log" 2>&1 || true; fi
    if ! (cd "$work/$package" && apt-get download "$package") >"$state/documents.log" 2>&1; then
      tail -n 5 "$state/documents.log" >&2
      fail "cannot fetch $package (if the package lists are missing: apt-get update, as root)"
    fi
  fi
  dpkg -x "$work/$package"/*.deb "$work/$package/unpacked"
  dpkg-deb --field "$work/$package"/*.deb Version >"$work/$package/unpacked/VERSION"
  rm -rf "build/document-packages/$package"
  mv "$work/$package/unpacked" "build/document-packages/$package"
}
