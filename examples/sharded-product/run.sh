#!/bin/sh
# Y = X W sharded over eight GPUs, forward and backward: which collectives, and do they hide?
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
echo "# Tensor parallelism, columns then rows: forward"
ask shard 'X[B,D]' 'W[D,F_X]' 'H[B,F_X]' --shape B=8192 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
ask shard 'H[B,F_X]' 'V[F_X,D]' 'Y[B,D]' --shape B=8192 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
ask shard 'H[B,F_X]' 'V[F_X,D]' 'Y[B_X,D]' --shape B=8192 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
printf '\n# ... backward: the gradient of X, and of W (the batch is contracted)\n'
ask shard 'dH[B,F_X]' 'Wt[F_X,D]' 'dX[B,D]' --shape B=8192 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
ask shard 'Xt[D,B]' 'dH[B,F_X]' 'dW[D,F_X]' --shape B=8192 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
printf '\n# FSDP, 8,192 tokens on each GPU: forward, and the gradient of W\n'
ask shard 'X[B_X,D]' 'W[D_X,F]' 'H[B_X,F]' --shape B=65536 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
ask shard 'Xt[D,B_X]' 'dH[B_X,F]' 'dW[D_X,F]' --shape B=65536 D=8192 F=28672 --mesh X=8 --links switch --link 450GB/s --peak 989TFLOP/s
printf '\n# Every layout of a 4 x 2 mesh\n'
ask shard 'X[B_X,D]' 'W[D,F_Y]' 'H[B_X,F_Y]' --shape B=8192 D=8192 F=28672 --mesh X=4 Y=2 --links switch --link 450GB/s --peak 989TFLOP/s --rank
