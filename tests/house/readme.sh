#!/usr/bin/env bash
# Runs the commands of README.md: every line of a ```sh block that follows a line <!-- tested -->.
#   readme.sh NAPKIN SOURCE_DIR
# "./bootstrap" and "napkin" both stand for the built binary. Exit 0 or 1 is an answer, anything else fails.
set -euo pipefail
binary=$1 source=$2
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
for shown in examples tests docs; do
  if [[ -e $source/$shown ]]; then ln -s "$source/$shown" "$room/$shown"; fi
done
mkdir "$room/bin"
ln -s "$binary" "$room/bin/napkin"
ln -s "$binary" "$room/bootstrap"
export PATH=$room/bin:$PATH
cd "$room"
count=0
while IFS= read -r command; do
  count=$((count + 1))
  status=0
  bash -o pipefail -c "$command" >out 2>err </dev/null || status=$?
  if ((status > 1)); then
    printf 'README.md: %s\nexit %d\n%s\n' "$command" "$status" "$(cat err)" >&2
    exit 1
  fi
done < <(awk '/^<!-- tested -->$/ {marked = 1; next}
              marked && /^```sh$/ {inside = 1; next}
              /^```$/ {inside = 0; marked = 0}
              inside && NF && !/^#/' "$source/README.md" | grep -v '^\./bootstrap test')
((count > 0)) || { echo "README.md has no tested command" >&2; exit 1; }
echo "$count commands ran"
