#!/usr/bin/env bash
# docs/validation.md and the table at the head of README.md's section on trust.
#   validation.sh NAPKIN SOURCE_DIR           checks that both are current in structure: headings, columns, README = document
#   validation.sh NAPKIN SOURCE_DIR --write   writes both; the development tables are taken from $NAPKIN_SHARED_DATA
# Figures are not compared: they change with every constant.
set -euo pipefail
napkin=$1 source=$2
document=$source/docs/validation.md
begin='<!-- validation: written by tests/house/validation.sh -->' end='<!-- end of validation -->'

# README's columns of the first table of the document's part on the development tables.
head_table() {
  awk -F ' *[|] *' '/^## On the development tables/ {on = 1} on && /^\|/ {
      seen = 1
      print "| " $2 " | " $5 " | " $6 " | " $7 " | " $8 " | " $10 " | " $12 " | " $13 " |"
    } on && seen && !/^\|/ {exit}' "$document"
}
readme_table() { awk -v b="$begin" -v e="$end" '$0 == e {on = 0} on {print} $0 == b {on = 1}' "$source/README.md"; }
# Headings without their counts, and the columns of every table.
structure() {
  awk '/^#/ {gsub(/[0-9]+ of [0-9]+ rows/, "N rows"); print} /^\| *-/ {print before} {before = $0}'
}

if [[ ${3:-} == --write ]]; then
  {
    "$napkin" validate --format md
    data=${NAPKIN_SHARED_DATA:-$source/../shared/data}
    if [[ -e $data/runs-nanotron-h100.jsonl ]]; then
      printf '\n'
      (cd "$data" && "$napkin" validate --format md --worst 15 runs-*.jsonl layers-*.jsonl collectives-published.jsonl) |
        sed -E 's/^## /### /; s/^# .*/## On the development tables\n\nBulk tables of others stay outside this repository (docs\/models.md says what a record holds)./'
    else
      echo "validation.sh: no development tables in $data; that part is left out" >&2
    fi
  } >"$document.new"
  mv "$document.new" "$document"
  table=$(head_table)
  awk -v b="$begin" -v e="$end" -v table="$table" '$0 == b {print; print table; skip = 1} $0 == e {skip = 0} !skip && $0 != b {print}' \
    "$source/README.md" >"$source/README.md.new"
  mv "$source/README.md.new" "$source/README.md"
  exit 0
fi

status=0
wanted=$("$napkin" validate --format md | structure)
got=$(awk '/^## On the development tables/ {exit} {print}' "$document" | structure)
diff -u --label "docs/validation.md" --label "napkin validate --format md" <(echo "$got") <(echo "$wanted") || status=1
diff -u --label "README.md" --label "docs/validation.md" <(readme_table) <(head_table) || status=1
if ((status)); then echo "run tests/house/validation.sh NAPKIN SOURCE_DIR --write" >&2; fi
exit "$status"
