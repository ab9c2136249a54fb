#!/usr/bin/env bash
# Installs the Debian packages that are missing when run as root, else names them and stops: those of
# debian-packages.txt, and of debian-packages-LIST.txt for every argument LIST.
source "$(dirname "$0")/lib.sh"

if ! command -v dpkg-query >/dev/null; then
  say "not a Debian system: expecting the equivalents of scripts/debian-packages.txt to be installed"
  exit 0
fi

installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

lists=(scripts/debian-packages.txt)
for list in "$@"; do lists+=("scripts/debian-packages-$list.txt"); done
missing=()
while read -r package tool; do
  [[ -z $package || $package == \#* ]] && continue
  if [[ -n $tool ]] && command -v "$tool" >/dev/null; then continue; fi
  installed "$package" || missing+=("$package")
done < <(cat "${lists[@]}")

# Debian's own Python makes virtual environments only with the package python3-venv; other Pythons bring ensurepip.
if [[ -z ${PYTHON:-} && ! -x .venv/bin/python ]]; then
  if ! command -v python3 >/dev/null || ! python3 -c 'import ensurepip' 2>/dev/null; then
    installed python3-venv || missing+=(python3-venv)
  fi
fi

if ((${#missing[@]} == 0)); then
  exit 0
fi
if ((EUID != 0)); then
  fail "missing Debian packages; as root run: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
fi
say "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
quietly "$state/apt.log" apt-get update
quietly "$state/apt.log" apt-get install -y --no-install-recommends "${missing[@]}"
