#!/usr/bin/env bash
# Trains and measures the small byte models of the demo. TEXT=FILE takes a text of the user's own instead of the novels,
# FULL=1 the larger setting with three seeds. The report goes to demo/. With the argument `check` it only looks at TEXT.
source "$(dirname "$0")/lib.sh"

out=demo
text=()
if [[ -n ${TEXT:-} ]]; then
  [[ -f $TEXT && -s $TEXT ]] || fail "TEXT: expected a file that is not empty, got $TEXT"
  # A tenth is held out and must hold a target block beyond its context.
  (($(stat -L -c %s "$TEXT") >= 20480)) || fail "TEXT: expected at least 20480 bytes, got $(stat -L -c %s "$TEXT") in $TEXT"
  text=(--text "$TEXT")
fi
if [[ ${1:-} == check ]]; then exit 0; fi
if [[ -z ${TEXT:-} ]]; then
  bash scripts/fetch-novels.sh
  for novel in build/novels/*.txt; do
    [[ $novel == */persuasion.txt ]] || text+=(--train "$novel")
  done
  text+=(--held-out build/novels/persuasion.txt)
fi
full=()
if [[ -n ${FULL:-} && $FULL != 0 ]]; then full=(--full); fi
# What an earlier `make demo` left gives way; the program refuses anything else.
[[ ! -f $out/metrics.json ]] || say "replacing the results in $out/"
say "training and measuring (about 10 minutes on two cores; FULL=1: hours)"
build/bin/longspan demo --out "$out" --overwrite "${text[@]}" "${full[@]}"
say "the report is $out/report.html, the numbers are in $out/metrics.json"
