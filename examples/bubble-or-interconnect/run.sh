#!/bin/sh
# Is a pipelined step better helped by a schedule (zero-bubble, DualPipe) or by more interconnect?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask pipeline --schedule 1f1b --stages 8 --micro-batches 64
ask pipeline --schedule zb-h1 --stages 8 --micro-batches 64
ask pipeline --schedule zb-v --stages 8 --micro-batches 64
ask pipeline --schedule dualpipe --stages 8 --micro-batches 64
ask compare 1f1b.json zb-v.json dualpipe.json faster-link.json
ask compare 1f1b.json tp4.json
