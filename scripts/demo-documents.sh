#!/usr/bin/env bash
# Trains encoders with different attentions on long documents and reports what they learned. FULL=1: more tasks and
# steps, three seeds. The report goes to demo-documents/.
source "$(dirname "$0")/lib.sh"

bash scripts/fetch-documents.sh
data=build/documents
full=()
if [[ -n ${FULL:-} && $FULL != 0 ]]; then
  data=build/documents-full
  full=(--full)
fi
out=demo-documents
say "training and measuring (about 20 minutes on two cores; FULL=1: hours)"
build/bin/longspan demo-documents --data "$data" --out "$out" --overwrite "${full[@]}"
say "the report is $out/report.html, the numbers are in $out/metrics.json"
