#!/usr/bin/env bash
# Chooses the Python interpreter whose torch the build uses and writes its path to build/setup/python:
#   PYTHON, when given, now or the last time;
#   else python3, when its torch fits and it has the modules of the tests;
#   else .venv, made here with the CPU build of torch (or over an installed torch that fits).
source "$(dirname "$0")/lib.sh"

# An interpreter that was named is that of the build folder until another is named.
named=$(cat "$state/python.named" 2>/dev/null || true)
if [[ -z ${PYTHON:-} && -n $named ]]; then
  if [[ -x $named ]]; then
    PYTHON=$named
  else
    say "PYTHON=$named of the last time is gone; choosing anew"
    rm "$state/python.named"
  fi
fi

# The choice stands as long as what it came from does.
base=$(command -v "${PYTHON:-python3}") || fail "PYTHON: expected a Python interpreter, got ${PYTHON:-python3}"
key="${PYTHON:-} $base $(cat scripts/requirements.txt scripts/check_python.py | cksum)"
if [[ -f $state/python.key && $(cat "$state/python.key") == "$key" && -x $(cat "$state/python") ]]; then
  exit 0
fi

choose() {
  say "using $1 ($2)"
  printf '%s\n' "$1" >"$state/python"
  printf '%s\n' "$key" >"$state/python.key"
  exit 0
}

if [[ -n ${PYTHON:-} ]]; then
  found=$("$base" scripts/check_python.py --tests) || fail "PYTHON=$PYTHON does not fit: $found"
  printf '%s\n' "$base" >"$state/python.named"
  choose "$base" "$found"
fi
if found=$("$base" scripts/check_python.py --tests); then
  choose "$base" "$found"
fi

venv=$PWD/.venv
if [[ -x $venv/bin/python ]] && found=$("$venv/bin/python" scripts/check_python.py --tests); then
  choose "$venv/bin/python" "$found"
fi
"$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$base: $found; name another one with PYTHON="

pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)
# Only what set-up made is made anew: another environment of that name is the user's.
if [[ -e $venv && ! -f $venv/.longspan ]]; then
  fail ".venv: expected an environment made here or none, got one of another origin that does not fit; name an interpreter with PYTHON="
fi
rm -rf "$venv"
if "$base" scripts/check_python.py >/dev/null; then
  say "making .venv over the installed torch"
  quietly "$state/venv.log" "$base" -m venv --system-site-packages "$venv"
else
  say "making .venv"
  quietly "$state/venv.log" "$base" -m venv "$venv"
fi
touch "$venv/.longspan"
if ! "$venv/bin/python" scripts/check_python.py >/dev/null; then
  torch=$(grep '^torch==' scripts/requirements.txt)
  say "installing $torch, its CPU build (about 200 MB, once)"
  # Some package indexes offer the CPU build under the local version +cpu, others have one build only.
  if ! "${pip[@]}" install "$torch+cpu" >"$state/pip-torch.log" 2>&1; then
    say "the package index has no $torch+cpu: taking $torch, which may be the CUDA build of about 3 GB"
    say "(PyTorch's own CPU index has the small one: name it in PIP_EXTRA_INDEX_URL before the first make)"
    quietly "$state/pip-torch.log" "${pip[@]}" install "$torch"
  fi
fi
say "installing the modules of the Python tests"
grep -v '^torch==' scripts/requirements.txt >"$state/requirements.txt"
quietly "$state/pip.log" "${pip[@]}" install -r "$state/requirements.txt"
found=$("$venv/bin/python" scripts/check_python.py --tests) || fail ".venv does not fit: $found"
choose "$venv/bin/python" "$found"
