#!/bin/sh
# From bf16 to fp8 to fp4: what shrinks, what speeds up, and what the whole step gains.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask quant --to bf16,fp8-block,mxfp8,mxfp4,nvfp4 --params 70B
ask roofline --m 8192 --n 28672 --k 8192 --hw b200 --precision bf16,fp8,nvfp4
ask quant --to fp8,nvfp4 --ratio 2,4 --share 64%
ask compare bf16.json mxfp8.json nvfp4.json
