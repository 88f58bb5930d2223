#!/usr/bin/env bash
# A worked example against the output and the text stored beside it.
#   example.sh NAPKIN EXAMPLE_DIR
# EXAMPLE_DIR holds run.sh, output.txt (what run.sh prints) and README.md. Every **bold** figure of README.md stands in
# output.txt, and so does every line of it that starts with "napkin ". NAPKIN_UPDATE_GOLDEN=1 rewrites output.txt.
set -euo pipefail
binary=$1 dir=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$dir"
if ! ./run.sh "$binary" >"$out/output" 2>"$out/errors" </dev/null; then
  tail -n 3 "$out/output"
  cat "$out/errors"
  exit 1
fi
failed=0
if [[ -n ${NAPKIN_UPDATE_GOLDEN:-} ]]; then
  cp "$out/output" output.txt
else
  diff -u --label "expected output" --label output output.txt "$out/output" || failed=1
fi
figures=0
while IFS= read -r figure; do
  figures=$((figures + 1))
  grep -qF -- "$figure" output.txt || { echo "README.md: **$figure** is not in output.txt" && failed=1; }
done < <(grep -o '\*\*[^*]*\*\*' README.md | tr -d '*')
((figures > 0)) || { echo "README.md names no **figure** of output.txt" && failed=1; }
commands=0
while IFS= read -r command; do
  commands=$((commands + 1))
  grep -qxF -- "\$ $command" output.txt || { echo "README.md: no answer to '$command' in output.txt" && failed=1; }
done < <(grep '^napkin ' README.md)
((commands > 0)) || { echo "README.md shows no command" && failed=1; }
exit "$failed"
