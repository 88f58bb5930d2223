#!/bin/sh
# Llama-3 70B on eight H100: 1 s to the first token, 25 ms a token at p99, 20 requests a second. How many replicas?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask kv llama3-70b --seq 4k --gpus 8 --hw h100
ask prefill llama3-70b --prompt 4k --gpus 8 --hw h100
ask decode llama3-70b --gpus 8 --context 4k --batch 1,16,64,128,256,404 --price 2.5
ask serve --step-limit 25ms --decode-time 8.47ms --params 70.6B --gpus 8 --rate 4/s --prompt 4k
ask serve --rate 20/s --output 512 --step-time 25ms --prefill-time 0.225s --capacity 64 --gpus 8
ask serve llama3-70b --hw h100 --gpus 8 --rate 20/s --prompt 4k --output 512 --token-limit 25ms --first-token-limit 1s
ask serve --acceptance 80% --draft 1,3 --draft-cost 5%
