#!/usr/bin/env bash
# Puts the text of the demo, six novels by Jane Austen, into build/novels/: from Debian's package r-cran-janeaustenr.
source "$(dirname "$0")/lib.sh"

package=r-cran-janeaustenr
novels=build/novels
if [[ -f $novels/.complete ]]; then
  exit 0
fi
other="give a text of your own: make demo TEXT=my.txt"
command -v apt-get >/dev/null || fail "the novels come from a Debian package and this is no Debian system; $other"

say "fetching the novels (Debian package $package)"
work=$(mktemp -d "$PWD/build/novels.XXXXXX")
trap 'rm -rf "$work"' EXIT
download() { (cd "$work" && apt-get download "$package") >"$state/novels.log" 2>&1; }
if ! download; then
  # Without package lists nothing is found; only root may fetch them.
  if ((EUID == 0)); then apt-get update >"$state/apt.log" 2>&1 || true; fi
  if ! download; then
    tail -n 5 "$state/novels.log" >&2
    fail "cannot fetch $package (if the package lists are missing: apt-get update, as root); $other"
  fi
fi
dpkg -x "$work"/"$package"_*.deb "$work/unpacked"
"$(cat "$state/python")" scripts/novels.py "$work/unpacked" "$novels" >"$state/novels.log" ||
  fail "the package $package could not be read; $other"
touch "$novels/.complete"
