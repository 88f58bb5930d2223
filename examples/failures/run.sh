#!/bin/sh
# 419 unexpected interruptions in 54 days on 16,384 GPUs: what do 1,024 meet, how often to checkpoint, what is left?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask goodput --failures 419 --observed 54days --observed-gpus 16384 --gpus 16384 --write 5s --restart 10min
ask goodput --failures 419 --observed 54days --observed-gpus 16384 --gpus 1024 --write 60s --restart 10min
ask goodput --failures 419 --observed 54days --observed-gpus 16384 --gpus 1024 --write 60s --restart 10min --interval 10min,1h,4h
ask goodput --failures 419 --observed 54days --observed-gpus 16384 --gpus 1024,16384,131072 --run 24h --write 60s
ask goodput --params 100B --gpus 1024 --job-mttf 49.5h --node-bandwidth 2GB/s
