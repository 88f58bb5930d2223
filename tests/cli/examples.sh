#!/usr/bin/env bash
# Every command has help, and the examples at its end run: at least two lines "  napkin COMMAND ..." below "Examples:".
#   examples.sh NAPKIN SOURCE_DIR
set -euo pipefail
binary=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/bin"
ln -s "$binary" "$room/bin/napkin"
if [[ -e $2/examples ]]; then ln -s "$2/examples" "$room/examples"; fi
export PATH=$room/bin:$PATH
cd "$room"
failed=0
complain() {
  echo "$@" >&2
  failed=1
}
commands=$(napkin --help | awk '/^[^ ].*:$/ {on = $0 !~ /^Options/; next} /^$/ {next} on && /^  [a-z]/ {sub(/,$/, "", $1); print $1}')
for command in $commands; do
  count=0
  while IFS= read -r line; do
    count=$((count + 1))
    status=0
    bash -o pipefail -c "$line" >/dev/null 2>err </dev/null || status=$?
    if ((status > 1)); then complain "napkin $command --help: example \"$line\": exit $status: $(<err)"; fi
  done < <(napkin "$command" --help | awk '/^Examples:/ {on = 1; next} /^$/ {on = 0} on && /^  napkin / {sub(/^ +/, ""); sub(/ +#.*/, ""); print}')
  if ((count < 2)); then complain "napkin $command --help: $count examples, wants 2 or more"; fi
done
exit "$failed"
