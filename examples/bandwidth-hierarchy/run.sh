#!/bin/sh
# Which parallelism belongs on which link? The same model on HGX H100, GB200 NVL72 and TPU v5p.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask limits --hw h100 --ffn 25600 --tp 8
ask limits --hw gb200-nvl72 --domain 72 --ffn 25600 --tp 8
ask limits --hw tpu-v5p --domain 1024 --axes 3 --ffn 25600
ask compare 'tp8 sp pp4 zero1 mb1' 'tp16 sp pp4 zero1 mb1' --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens
ask compare 'tp8 sp pp4 zero1 mb1' 'tp16 sp pp4 zero1 mb1' --model 100B --gpus 1152 --hw gb200-nvl72 --seq 4k --batch 1152
ask plan --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens --top 3
ask plan --model 100B --gpus 1152 --hw gb200-nvl72 --seq 4k --batch 1152 --top 3
ask plan --model 100B --gpus 1024 --hw tpu-v5p --seq 4k --batch 4M-tokens --top 3
