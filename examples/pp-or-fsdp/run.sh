#!/bin/sh
# When does adding pipeline stages beat sharding further with FSDP? Over GPUs, batch, and the network.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask sweep --model 100B --hw h100 --gpus 128..4096 --batch 4M-tokens --each pp=1,4 --plot
ask sweep --model 100B --hw h100 --gpus 1024 --batch 1M-tokens..32M-tokens --each pp=1,4
ask sweep --model 100B --hw h100 --gpus 1024 --batch 16M-tokens --scale network.rail.bandwidth=0.25..4 --each pp=1,4
ask compare --why 'cp2 dp512 zero3 mb1' 'tp2 cp4 pp4 vpp6 dp32 zero1 mb1' --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens
