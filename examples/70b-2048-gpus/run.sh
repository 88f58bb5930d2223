#!/bin/sh
# Llama-3 70B on 2,048 H100: layout, step, days for 15T tokens, checkpoints and recovery.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask plan --model llama3-70b --gpus 2048 --hw h100 --seq 8k --batch 2048 --framework megatron-lm --top 3
ask predict run.json --convention weights-only
ask traintime llama3-70b --tokens 15T --gpus 2048 --mfu 46% --price 2.5
ask goodput --model llama3-70b --gpus 2048 --failures 419 --observed 54days --observed-gpus 16384 --node-bandwidth 2GB/s --restart 10min --run 78.8days
ask goodput --model llama3-70b --gpus 2048 --failures 419 --observed 54days --observed-gpus 16384 --bandwidth 25GB/s --restart 10min
ask goodput --model llama3-70b --gpus 2048 --failures 419 --observed 54days --observed-gpus 16384 --node-bandwidth 2GB/s --restart 5min,10min,1h
