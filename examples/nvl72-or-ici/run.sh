#!/bin/sh
# What changes on an NVL72 rack, and on the torus of a TPU pod, against nodes of eight GPUs?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask sweep --model 100B --hw h100,b200,gb200-nvl72,tpu-v5p --gpus 1024 --seq 4k --batch 4M-tokens
ask sweep --model 100B --hw b200,gb200-nvl72,tpu-v5p --gpus 1024 --seq 4k --batch 4M-tokens --each tp=1..16 --x tp
ask sweep --model qwen3-235b-a22b --hw b200,gb200-nvl72 --gpus 256 --seq 4k --batch 1024 --each ep=8..64 --x ep
ask sweep --model 100B --hw gb200-nvl72 --gpus 1024 --seq 4k --batch 4M-tokens --sensitivity --top 6
ask sweep --model 100B --hw tpu-v5p --gpus 1024 --seq 4k --batch 4M-tokens --sensitivity --top 6
