#!/bin/sh
# A Hugging Face config.json (or the folder that holds it) is a model like any other.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask params config.json
ask plan --model . --gpus 8 --hw a100 --seq 2k --batch 512 --top 3
