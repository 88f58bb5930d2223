#!/bin/sh
# A 7B model fine-tuned in full, by LoRA or by QLoRA: bytes, GPUs and time.
# Usage: run.sh [NAPKIN]
set -eu
. "$(dirname "$0")/../ask.sh"
ask finetune llama2-7b --rank 8,16,64
ask memory llama2-7b --recipe bf16,bf16-fp32-grads,adam8bit --seq 4k --recompute selective
ask predict --model llama2-7b --gpus 8 --hw h100 --zero 3 --seq 4k --batch 64 --task sft
ask predict --model llama2-7b --gpus 8 --hw h100 --zero 3 --seq 4k --batch 64 --task lora
ask predict --model llama2-7b --gpus 1 --hw h100 --seq 4k --batch 64 --task lora
ask predict --model llama2-7b --gpus 1 --hw h100 --seq 4k --batch 64 --task qlora
