#!/bin/sh
# Pretraining a mixture of experts: how long are the all-to-alls, and can they hide?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask moe deepseek-v3 --tokens 4k --destinations 4
ask moe deepseek-v3 --tokens 4k --top-k 8 --places 8
ask moe deepseek-v3 --tokens 4k --top-k 8 --places 8 --each-expert --link 450GB/s
ask collective expert-exchange --bytes 7168B --tokens 4096 --top-k 8 --gpus 64 --hw h100
ask collective expert-exchange --bytes 7168B --tokens 4096 --top-k 8 --node-limit 4 --gpus 64 --hw h100
ask collective expert-exchange --bytes 7168B --tokens 4096 --top-k 8 --gpus 64 --hw gb200-nvl72
ask moe --hottest 1.3 --capacity 1
