#!/bin/sh
# The study question: a dense 100B model, sequences of 4k, 4M tokens a step, 1,024 H100. How many bytes per GPU, how long a
# step, which MFU, under ZeRO-3 over all ranks and under TP8 × PP4 × DP32? Which layout is best?
# Usage: run.sh [NAPKIN]   (the napkin binary; default: ./bootstrap at the root of the repository)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
napkin=${1:-$here/../../bootstrap}
"$napkin" predict "$here/zero3.json"
"$napkin" predict "$here/tp8-pp4-dp32.json"
"$napkin" compare "$here/zero3.json" "$here/tp8-pp4-dp32.json"
"$napkin" plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens --top 5
