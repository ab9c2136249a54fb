#!/usr/bin/env bash
# Puts the tasks of the document demo into build/documents/: novels, an FAQ and manual pages from Debian packages.
# FULL=1 reads the manual pages of perl-doc too and writes build/documents-full/.
source "$(dirname "$0")/lib.sh"

documents=build/documents
unpacked=build/document-packages
manuals=(git-man manpages-dev)   # 4 MB
if [[ -n ${FULL:-} && $FULL != 0 ]]; then
  documents=build/documents-full
  manuals+=(perl-doc)            # 8 MB more
fi
faq=anarchism                    # 7 MB

made=$documents/.complete
if [[ -f $made ]]; then
  current=1
  for part in document_tasks document_text man_text novels; do
    if [[ scripts/$part.py -nt $made ]]; then current=0; fi
  done
  if ((current)); then exit 0; fi
fi
command -v spm_train >/dev/null || fail "spm_train is missing (Debian package sentencepiece)"
command -v apt-get >/dev/null || fail "the documents come from Debian packages and this is no Debian system"
bash scripts/fetch-novels.sh

work=$(mktemp -d "$PWD/build/documents.XXXXXX")
trap 'rm -rf "$work"' EXIT
for package in "${manuals[@]}" "$faq"; do fetch_package "$package"; done
say "making the tasks from them"
rm -f "$made"
"$(cat "$state/python")" -B scripts/document_tasks.py --novels build/novels --faq "$unpacked/$faq" \
  --manuals "${manuals[@]/#/$unpacked/}" --output "$documents" >"$state/documents.log" ||
  fail "the documents could not be read (see $state/documents.log)"
say "training a tokenizer on the texts that are trained on"
text=$work/text
"$(cat "$state/python")" -c 'import json, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % 8 == 0:
                print(" ".join(json.loads(line)["text"].split()))' \
  "$documents"/{author,pairs,novel,manuals}/train.jsonl >"$text"
quietly "$state/tokenizer.log" spm_train --input="$text" --model_prefix="$work/tokenizer" --vocab_size=8000 \
  --max_sentence_length=1000000 --num_threads=2 --minloglevel=1
mv "$work/tokenizer.model" "$documents/tokenizer.model"
touch "$made"
