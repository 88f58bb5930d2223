#!/usr/bin/env bash
# docs/validation.md, the table at the head of README.md's section on trust, and the residuals that prediction intervals are
# made of (model/run/residuals.json; build again after it has changed).
#   validation.sh NAPKIN SOURCE_DIR           checks that the documents are current in structure: headings, columns, README = document
#   validation.sh NAPKIN SOURCE_DIR --write   writes all three; the development tables are taken from $NAPKIN_SHARED_DATA
# Figures are not compared: they change with every constant. What stands between the two "by hand" marks of the document is
# kept as it is.
set -euo pipefail
napkin=$1 source=$2
document=$source/docs/validation.md
begin='<!-- validation: written by tests/house/validation.sh -->' end='<!-- end of validation -->'
by_hand='<!-- by hand: kept by tests/house/validation.sh -->' hand_ends='<!-- end of what is written by hand -->'

# README's columns of the first table of the document's part on the development tables.
head_table() {
  awk -F ' *[|] *' '/^## On the development tables/ {on = 1} on && /^\|/ {
      seen = 1
      print "| " $2 " | " $5 " | " $6 " | " $7 " | " $8 " | " $10 " | " $12 " | " $13 " |"
    } on && seen && !/^\|/ {exit}' "$document"
}
readme_table() { awk -v b="$begin" -v e="$end" '$0 == e {on = 0} on {print} $0 == b {on = 1}' "$source/README.md"; }
hand_written() { awk -v b="$by_hand" -v e="$hand_ends" '$0 == b {on = 1} on {print} $0 == e {on = 0}' "$document"; }
without_hand() { awk -v b="$by_hand" -v e="$hand_ends" '$0 == b {on = 1} !on {print} $0 == e {on = 0}'; }
# Headings without their counts, and the columns of every table.
structure() {
  awk '/^#/ {gsub(/[0-9]+ of [0-9]+ rows/, "N rows"); print} /^\| *-/ {print before} {before = $0}'
}
# A study's table under a heading of the third level.
study() {
  printf '\n### %s\n\n' "$1"
  shift
  "$napkin" validate "$@" --format md | sed -E 's/^\*\*(.*)\*\*$/\1/; s/^#+ (.*)$/\1/'
}

if [[ ${3:-} == --write ]]; then
  data=${NAPKIN_SHARED_DATA:-$source/../shared/data}
  {
    "$napkin" validate --format md
    printf '\n'
    hand_written
    if [[ -e $data/runs-nanotron-h100.jsonl ]]; then
      printf '\n'
      cd "$data"
      "$napkin" validate --format md --worst 15 runs-*.jsonl layers-*.jsonl collectives-published.jsonl |
        sed -E 's/^## /### /; s/^# .*/## On the development tables\n\nBulk tables of others stay outside this repository (docs\/models.md says what a record holds)./'
      study 'Constants fitted to runs' runs-*.jsonl --constants
      for by in model scale framework hardware; do study "Each $by left out" runs-*.jsonl --leave-out "$by"; done
      printf '\n### Before any fit to runs\n\nEvery constant of the list above at its neutral value, published runs alone:\n\n'
      "$napkin" validate --unfitted --format md runs-nvidia-published.jsonl runs-other-published.jsonl |
        awk '/^## Predicted \/ measured/ {on = 1; next} /^## / {on = 0} on'
    else
      echo "validation.sh: no development tables in $data; that part is left out" >&2
    fi
  } >"$document.new"
  mv "$document.new" "$document"
  if [[ -e $data/runs-nanotron-h100.jsonl ]]; then
    (cd "$data" && "$napkin" validate runs-*.jsonl --write-intervals "$source/model/run/residuals.json")
  fi
  table=$(head_table)
  awk -v b="$begin" -v e="$end" -v table="$table" '$0 == b {print; print table; skip = 1} $0 == e {skip = 0} !skip && $0 != b {print}' \
    "$source/README.md" >"$source/README.md.new"
  mv "$source/README.md.new" "$source/README.md"
  exit 0
fi

status=0
wanted=$("$napkin" validate --format md | structure)
got=$(awk '/^## On the development tables/ {exit} {print}' "$document" | without_hand | structure)
diff -u --label "docs/validation.md" --label "napkin validate --format md" <(echo "$got") <(echo "$wanted") || status=1
if [[ -z $(hand_written) ]]; then
  echo "docs/validation.md: the part written by hand (what we get wrong and why) is gone; it stands between \"$by_hand\" and \"$hand_ends\"" >&2
  status=1
fi
diff -u --label "README.md" --label "docs/validation.md" <(readme_table) <(head_table) || status=1
if ((status)); then echo "run tests/house/validation.sh NAPKIN SOURCE_DIR --write" >&2; fi
exit "$status"
