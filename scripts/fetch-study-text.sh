#!/usr/bin/env bash
# Puts the text of `longspan study text` into build/study-text/{train,held-out}/: novels and manual pages from Debian
# packages, about 15 MB, and whole documents that are held out.
source "$(dirname "$0")/lib.sh"

text=build/study-text
manuals=(git-man manpages-dev perl-doc)
made=$text/.complete
if [[ -f $made ]]; then
  current=1
  for part in study_text man_text novels; do
    if [[ scripts/$part.py -nt $made ]]; then current=0; fi
  done
  if ((current)); then exit 0; fi
fi
command -v apt-get >/dev/null ||
  fail "the texts come from Debian packages and this is no Debian system; longspan study text takes texts of your own"
bash scripts/fetch-novels.sh
work=$(mktemp -d "$PWD/build/study-text.XXXXXX")
trap 'rm -rf "$work"' EXIT
for package in "${manuals[@]}"; do fetch_package "$package"; done
"$(cat "$state/python")" -B scripts/study_text.py --novels build/novels --manuals "${manuals[@]/#/build/document-packages/}" \
  --output "$work/text" || fail "the texts could not be read"
rm -rf "$text"
mv "$work/text" "$text"
touch "$made"
