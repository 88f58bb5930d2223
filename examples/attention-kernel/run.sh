#!/bin/sh
# An attention kernel reaches 40 % of the peak. Which bound is it, and what is left to win?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask attention --group 1 --head-dim 128 --seq 16k --sfu 3.9e12 --measured 40%
ask attention --group 1 --head-dim 128 --seq 16k --sfu 3.9e12 --measured 75%
ask attention --group 1 --head-dim 64 --seq 16k --sfu 3.9e12 --measured 40%
ask attention --group 1 --head-dim 128 --seq 16k --sfu 3.9e12 --precision fp8 --measured 40%
ask attention --group 8 --head-dim 128 --seq 16k --decode
