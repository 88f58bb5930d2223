#!/bin/sh
# A Hugging Face config.json (or the folder that holds it) is a model like any other.
# Usage: run.sh [NAPKIN]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
napkin=${1:-$here/../../bootstrap}
"$napkin" params "$here/config.json"
"$napkin" plan --model "$here" --gpus 8 --hw a100 --seq 2k --batch 512 --top 3
