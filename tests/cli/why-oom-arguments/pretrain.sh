MODEL_ARGS=(
    --num-layers 80 --hidden-size 8192 --num-attention-heads 64
    --group-query-attention --num-query-groups 8 --ffn-hidden-size 28672
    --seq-length 4096 --swiglu --normalization RMSNorm --disable-bias-linear
    --position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 128256
)
# one node holds the tensor-parallel group
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} \
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel \
    --micro-batch-size 4 --global-batch-size 256 --bf16 --lr $LR
