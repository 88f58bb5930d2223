#!/bin/sh
# 1 GB over 1,024 ranks: ring or tree? And how much of the gradients' all-reduce is exposed?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask collective all-reduce --bytes 1GB --gpus 1024 --bandwidth 50GB/s --alpha 5us
ask collective all-reduce --bytes 1MB --gpus 1024 --bandwidth 50GB/s --alpha 5us
ask collective all-reduce --bytes 1GB --gpus 1024 --bandwidth 50GB/s --alpha 5us --tie ring,tree@0.9
ask collective all-reduce --bytes 1GB --gpus 1024 --hw h100
ask overlap --params 7B --tokens 4k --dp 256 --link 400GB/s,50GB/s --efficiency 50%
ask overlap --params 7B --tokens 4k --accumulate 4 --dp 256 --link 50GB/s --efficiency 50%
