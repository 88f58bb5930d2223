#!/bin/sh
# 100B dense on 1,024 H100: bytes per GPU, step time and MFU under ZeRO-3 and under TP8 × PP4 × DP32; the best layout.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask predict zero3.json
ask predict tp8-pp4-dp32.json
ask compare zero3.json tp8-pp4-dp32.json
ask plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens --top 5
