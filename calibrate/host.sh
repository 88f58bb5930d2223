#!/usr/bin/env bash
# Measures one host of 1 to 8 GPUs: its network, then training steps, then both against the predictions written before.
#   host.sh network NAPKIN OUT    collectives at 2, 4, 8 ranks (algorithms and protocols chosen and forced), groups at once, peer copies
#   host.sh steps NAPKIN OUT      every run of pytorch/planned.jsonl for 1, 2, 4, 8 GPUs, as far as the host has them
#   host.sh compare NAPKIN OUT    predictions beside what OUT holds
# NAPKIN: a binary built with NAPKIN_CUDA (network; the others take any). OUT: a folder. NVLink multicast stays off.
set -euo pipefail
if (($# != 3)); then
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
mode=$1 napkin=$(realpath "$2") here=$(dirname "$(realpath "$0")")
mkdir -p "$3"
out=$(realpath "$3")
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
cd "$here/pytorch"
case $mode in
  network)
    "$napkin" calibrate measure --groups collective,peer --out "$out/network.jsonl"
    ;;
  steps)
    python3 predict.py "$napkin" planned.jsonl >"$out/predicted.jsonl"
    found=$(nvidia-smi --list-gpus | wc -l)
    status=0
    for gpus in 1 2 4 8; do
      if ((gpus > found)); then
        echo "host.sh: runs on $gpus GPUs left out: this host has $found" >&2
        continue
      fi
      # One process group a record: a run that fails leaves the others theirs.
      while read -r id; do
        torchrun --nproc-per-node "$gpus" steps.py planned.jsonl --out "$out/runs.jsonl" --only "$id" || status=1
      done < <(python3 -c 'import sys, shape; print(*(r["id"] for r in shape.read_rows("planned.jsonl") if r["gpus"] == int(sys.argv[1])), sep="\n")' "$gpus")
    done
    exit "$status"
    ;;
  compare)
    python3 compare.py "$out/predicted.jsonl" "$out/runs.jsonl"
    "$napkin" validate "$out/runs.jsonl"
    if [[ -e $out/network.jsonl ]]; then "$napkin" calibrate check h200 "$out/network.jsonl"; fi
    ;;
  *)
    echo "host.sh: no mode $mode; write network, steps or compare" >&2
    exit 2
    ;;
esac
