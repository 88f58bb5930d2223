#!/usr/bin/env bash
# Two processes without a GPU: exit status 2, and one line of napkin's.
#   mpirun.sh MPIRUN NAPKIN
set -uo pipefail
said=$(CUDA_VISIBLE_DEVICES='' "$1" --oversubscribe -n 2 "$2" calibrate measure --quick --out /dev/null 2>&1)
status=$?
[[ $status == 2 && $(grep -c '^napkin: ' <<<"$said") == 1 ]] || {
  echo "exit status $status, expected 2, and one line of napkin's in:"$'\n'"$said" >&2
  exit 1
}
