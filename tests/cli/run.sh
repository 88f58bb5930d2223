#!/usr/bin/env bash
# A golden test of the command line.
#   run.sh NAPKIN CASE_DIR
# CASE_DIR holds `command` (a shell line that calls napkin), and the expected `stdout`, `stderr` (both empty when absent)
# and `exit` (0 when absent). It runs inside CASE_DIR. NAPKIN_UPDATE_GOLDEN=1 rewrites the expectations.
set -euo pipefail
binary=$1 dir=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir "$out/bin"
ln -s "$binary" "$out/bin/napkin"
cd "$dir"
status=0
PATH=$out/bin:$PATH bash -o pipefail -c "$(cat command)" >"$out/stdout" 2>"$out/stderr" </dev/null || status=$?
if [[ -n ${NAPKIN_UPDATE_GOLDEN:-} ]]; then
  for stream in stdout stderr; do
    if [[ -s $out/$stream ]]; then cp "$out/$stream" "$stream"; else rm -f "$stream"; fi
  done
  if ((status)); then echo "$status" >"exit"; else rm -f exit; fi
  exit 0
fi
failed=0
for stream in stdout stderr; do
  expected=$stream
  if [[ ! -e $stream ]]; then expected=/dev/null; fi
  diff -u --label "expected $stream" --label "$stream" "$expected" "$out/$stream" || failed=1
done
expected=0
if [[ -e exit ]]; then expected=$(<"exit"); fi
if [[ $status != "$expected" ]]; then
  echo "exit $status, expected $expected"
  failed=1
fi
exit "$failed"
