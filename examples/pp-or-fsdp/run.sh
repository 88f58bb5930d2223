#!/bin/sh
# When does adding pipeline stages beat sharding further with FSDP? Over GPUs, model size, and the network.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask sweep --model llama3.1-8b --hw h100 --gpus 256..4096 --seq 4k --batch 4M-tokens --each pp=1,2,4 --plot
ask sweep --model 100B --hw h100 --gpus 256..4096 --seq 4k --batch 4M-tokens --each pp=1,4
ask sweep --model 100B --hw h100 --gpus 1024 --seq 4k --batch 16M-tokens --scale network.rail.bandwidth=0.25..4 --each pp=1,4
ask compare --why 'cp2 dp512 zero3 mb1' 'tp2 cp4 pp4 vpp6 dp32 zero1 mb1' --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens
