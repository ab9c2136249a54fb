#!/usr/bin/env bash
# Trains memories on novels and manuals at equal parameters and reports what they are worth on held-out documents. A study
# that was stopped goes on where it left off. Hours on two cores.
source "$(dirname "$0")/lib.sh"

bash scripts/fetch-study-text.sh
out=study-text
say "training and measuring (some hours on two cores; Ctrl-C stops, the same command goes on)"
build/bin/longspan study text --train build/study-text/train --held-out build/study-text/held-out --out "$out"
say "the report is $out/report.html, the numbers are in $out/results.json and $out/results.csv"
