#!/bin/sh
# From the ranking to a launch script, back from the script to the prediction, and over to other frameworks.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
room=$(mktemp -d)
trap 'rm -r "$room"' EXIT
cd "$room"
ask plan --model qwen3-30b-a3b --gpus 64 --hw h100 --seq 4k --batch 512 --framework megatron-lm --top 3 --emit megatron-lm -o pretrain.sh
printf '\n$ cat pretrain.sh\n'
cat pretrain.sh
ask predict --from megatron-args pretrain.sh --hw h100
ask emit --framework megatron-bridge --from megatron-args pretrain.sh --hw h100
# A framework without the layout's parts says so and writes nothing.
ask emit --framework nanotron --from megatron-args pretrain.sh --hw h100 2>&1 || printf '(exit %s)\n' $?
