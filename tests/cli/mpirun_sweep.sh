#!/usr/bin/env bash
# Four processes print what one prints, in every format; a fault is one line of one of them, and the status is mpirun's.
#   mpirun_sweep.sh MPIRUN NAPKIN
set -uo pipefail
mpirun=("$1" --oversubscribe -n 4) napkin=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
same() {
  "$napkin" "$@" >"$out/one" || { echo "one process: exit status $?" >&2 && exit 1; }
  "${mpirun[@]}" "$napkin" "$@" >"$out/four" || { echo "four processes: exit status $?" >&2 && exit 1; }
  [[ -s $out/one ]] && diff "$out/one" "$out/four" || { echo "differs under mpirun: napkin $*" >&2 && exit 1; }
}
job=(--model llama3.1-8b,mixtral-8x7b --hw h100,a100 --gpus 8..64 --batch 64)
for format in table md csv json; do same sweep "${job[@]}" --format "$format"; done
same sweep --model llama3.1-8b --hw h100 --gpus 64 --batch 64 --tp 1..8 --pp 1,2 --plot  # fewer points than ranks, some invalid
same sweep --model llama3.1-8b --hw h100 --gpus 64 --batch 64
said=$("${mpirun[@]}" "$napkin" sweep --model llama3.1-8b --hw h100 --gpus 8..4 2>&1)
status=$?
[[ $status == 2 && $(grep -c '^napkin: ' <<<"$said") == 1 ]] || {
  echo "exit status $status, expected 2, and one line of napkin's in:"$'\n'"$said" >&2
  exit 1
}
