#!/usr/bin/env bash
# docs/choices.md: the builders' layouts of the development tables against ours.
#   choices.sh NAPKIN SOURCE_DIR           checks that the document has both parts, each with its rules and their counts
#   choices.sh NAPKIN SOURCE_DIR --write   writes it; the tables are taken from $NAPKIN_SHARED_DATA
# Figures are not compared: they change with every constant. What stands between the "by hand" marks is kept as it is.
set -euo pipefail
napkin=$1 document=$2/docs/choices.md
by_hand='<!-- by hand: kept by tests/house/choices.sh -->' hand_ends='<!-- end of what is written by hand -->'
hand_written() { awk -v b="$by_hand" -v e="$hand_ends" '$0 == b {on = 1} on {print} $0 == e {on = 0}' "$document"; }

if [[ ${3:-} == --write ]]; then
  data=${NAPKIN_SHARED_DATA:-$2/../shared/data}
  {
    "$napkin" validate "$data/runs-nvidia-published.jsonl" --choices --worst 40 --format md
    printf '\n## Large runs of others (64 accelerators or more)\n\n'
    "$napkin" validate "$data/runs-other-published.jsonl" --choices --min-gpus 64 --worst 20 --format md | sed '1,4d'
    printf '\n'
    hand_written
  } > "$document.new"
  mv "$document.new" "$document"
fi
parts=$(grep -c '^\*\*Dropped from the searches' "$document" || true)
summaries=$(grep -c '^[0-9]* choices: ' "$document" || true)
if [[ $parts != 2 || $summaries != 2 ]]; then
  echo "docs/choices.md has $summaries summaries and $parts lists of rules instead of 2 and 2; run tests/house/choices.sh NAPKIN SOURCE_DIR --write" >&2
  exit 1
fi
