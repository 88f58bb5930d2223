#!/usr/bin/env bash
# Runs the commands of a document: every line of a ```sh block that follows a line <!-- tested -->.
#   readme.sh NAPKIN SOURCE_DIR [DOCUMENT]      default README.md
# "./bootstrap" and "napkin" both stand for the built binary. Exit 0 or 1 is an answer, anything else fails.
# A block that follows <!-- output --> shows lines of what the commands before it print: each must be there, spaces aside.
# After <!-- rows --> only what stands before the first wide gap is compared, and no line of numbers put into a formula
# (= …): these figures move with fitted constants.
set -euo pipefail
binary=$1 source=$2 document=${3:-README.md}
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
squeezed() { sed -E 's/ +/ /g; s/^ //; s/ $//'; }
count=0 lines=0
while IFS= read -r step; do
  text=${step#* }
  case ${step%% *} in
    begin) : >shown ;;
    command)
      count=$((count + 1))
      status=0
      bash -o pipefail -c "$text" >out 2>err </dev/null || status=$?
      if ((status > 1)); then
        printf '%s: %s\nexit %d\n%s\n' "$document" "$text" "$status" "$(cat err)" >&2
        exit 1
      fi
      squeezed <out >>shown
      ;;
    output | rows)
      lines=$((lines + 1))
      if [[ ${step%% *} == rows ]]; then
        text=$(sed -E 's/^ +//; s/  .*//' <<<"$text")
        if [[ $text == =* ]]; then continue; fi
      fi
      if ! grep -qF -- "$(squeezed <<<"$text")" shown; then
        printf '%s shows a line that its command does not print:\n%s\n' "$document" "$text" >&2
        exit 1
      fi
      ;;
  esac
done < <(awk '/^<!-- (tested|output|rows) -->$/ {marked = $2; next}
              marked == "tested" && /^```sh$/ {inside = marked; print "begin"; next}
              marked != "tested" && marked && /^```$/ && !inside {inside = marked; next}
              /^```$/ {inside = marked = ""}
              inside == "tested" && NF && !/^#/ {print "command " $0}
              inside && inside != "tested" && NF && !/^…/ {print inside " " $0}' "$source/$document" |
  grep -v '^command \./bootstrap test')
((count > 0)) || { echo "$document has no tested command" >&2; exit 1; }
echo "$count commands ran, $lines lines found"
