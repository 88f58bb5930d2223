"""Writes the plan: run records without a measurement, for 1, 2, 4 and 8 GPUs of one host.

    python3 plan.py > planned.jsonl
"""

import json

from shape import FSDP_BYTES, PURE_BYTES, refusal


def dense(name, layers, hidden, heads, kv_heads, head_dim, ffn, vocab=128256):
    """A dense decoder's shape."""
    return {"name": name, "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "ffn": ffn,
            "gated": True, "vocab": vocab, "tied_embeddings": False}


def sparse(name, layers, hidden, heads, kv_heads, head_dim, experts, top, ffn, vocab=32000):
    """A decoder whose every layer holds experts."""
    shape = dense(name, layers, hidden, heads, kv_heads, head_dim, 0, vocab)
    del shape["ffn"]
    return shape | {"moe": {"experts": experts, "top_k": top, "ffn": ffn}}


TINY = dense("tiny", 12, 768, 12, 12, 64, 2048, 50304)
L1B = dense("l1b", 16, 2048, 32, 8, 64, 8192)
L1B_MHA = dense("l1b-mha", 16, 2048, 16, 16, 128, 8192)
L3B = dense("l3b", 28, 3072, 24, 8, 128, 8192)
L8B = dense("l8b", 32, 4096, 32, 8, 128, 14336)
L13B = dense("l13b", 40, 5120, 40, 40, 128, 13824, 32000)
L70B8 = dense("l70b8", 8, 8192, 64, 8, 128, 28672)
FINE = sparse("moe-64x1024", 8, 2048, 16, 16, 128, 64, 8, 1024)
COARSE = sparse("moe-8x14336", 2, 4096, 32, 8, 128, 8, 2, 14336)


def run(name, model, gpus, sequence, micro, batch=None, pure=True, framework="pytorch-eager", recompute="none", extra=None, **layout):
    """One planned record; what the layout does not use is filled from `gpus`."""
    used = layout.get("tp", 1) * layout.get("pp", 1) * layout.get("cp", 1)
    dp = gpus // used
    full = {"tp": 1, "sp": layout.get("tp", 1) > 1, "pp": 1, "dp": dp, "cp": 1, "ep": 1, "zero": 0, "schedule": "none"} | layout
    return {"id": f"h200-{gpus}gpu-{name}", "source": "planned: calibrate/pytorch/plan.py", "framework": framework, "model": model,
            "hardware": "h200-sxm", "gpus": gpus, "gpus_per_node": gpus, "precision": "bf16",
            "bytes_per_param": PURE_BYTES if pure else FSDP_BYTES, "seq_len": sequence, "micro_batch": micro,
            "global_batch": batch or micro * dp, "layout": full, "recompute": recompute,
            "notes": "attention: torch scaled_dot_product_attention; loss on fp32 logits; fused AdamW"} | (extra or {})


def one():
    """One GPU: shapes, long sequences, recomputation, experts, adapters, accumulation, autocast, compilation."""
    lora = {"task": "lora", "lora": {"rank": 16, "targets": ["qkv", "o", "gate_up", "down"]}, "bytes_per_param": {"param": 2}}
    compiled = {"framework": "pytorch-compile"}
    return [
        run("tiny-s512-b1", TINY, 1, 512, 1), run("tiny-s2048-b8", TINY, 1, 2048, 8), run("l1b-s4096-b4", L1B, 1, 4096, 4),
        run("l1b-mha-s4096-b4", L1B_MHA, 1, 4096, 4), run("l3b-s4096-b2", L3B, 1, 4096, 2),
        run("l3b-s4096-b4-full", L3B, 1, 4096, 4, recompute="full"), run("l8b-s4096-b1", L8B, 1, 4096, 1),
        run("l8b-s8192-b1-full", L8B, 1, 8192, 1, recompute="full"), run("l1b-s65536-b1-full", L1B, 1, 65536, 1, recompute="full"),
        run("l3b-s32768-b1-full", L3B, 1, 32768, 1, recompute="full"), run("l70b8-s4096-b1", L70B8, 1, 4096, 1),
        run("l1b-s2048-acc8", L1B, 1, 2048, 1, batch=8), run("l1b-s4096-b2-autocast", L1B, 1, 4096, 2, pure=False),
        run("moe-64x1024-s4096-b2", FINE, 1, 4096, 2), run("moe-64x1024-s1024-b1", FINE, 1, 1024, 1),
        run("moe-8x14336-s4096-b2", COARSE, 1, 4096, 2), run("l8b-lora16-s4096-b1", L8B, 1, 4096, 1, extra=lora),
        run("l1b-lora16-s2048-b2", L1B, 1, 2048, 2, extra=lora), run("l1b-s4096-b4-compile", L1B, 1, 4096, 4, **compiled),
        run("l3b-s4096-b2-compile", L3B, 1, 4096, 2, **compiled), run("tiny-s2048-b8-compile", TINY, 1, 2048, 8, **compiled),
    ]


def several(gpus):
    """The same layouts at 2, 4 and 8 GPUs, and those that need as many."""
    sharded = {"pure": False, "zero": 3}
    out = [
        run("fsdp-l8b-s4096-b1", L8B, gpus, 4096, 1, **sharded), run("fsdp-l3b-s4096-b2-noreshard", L3B, gpus, 4096, 2, pure=False, zero=2),
        run("ddp-l1b-s4096-b2", L1B, gpus, 4096, 2), run(f"tp{gpus}-l8b-s4096-b2", L8B, gpus, 4096, 2, tp=gpus),
        run(f"cp{gpus}-ring-l1b-mha-s{8192 * gpus}", L1B_MHA, gpus, 8192 * gpus, 1, cp=gpus, cp_exchange="ring", **sharded),
        run(f"cp{gpus}-gather-l1b-mha-s{8192 * gpus}", L1B_MHA, gpus, 8192 * gpus, 1, cp=gpus, cp_exchange="all-gather", **sharded),
        run(f"ep{gpus}-moe-64x1024-s4096-b2", FINE, gpus, 4096, 2, ep=gpus, **sharded),
        run("fsdp-moe-64x1024-s4096-b2", FINE, gpus, 4096, 2, **sharded),
    ]
    for schedule, chunks in (("1f1b", 1), ("interleaved", 2), ("zb-v", 2)):
        out.append(run(f"pp{gpus}-{schedule}-l3b-m{2 * gpus}", L3B if gpus < 8 else L3B | {"name": "l3b-32", "layers": 32}, gpus, 4096, 1,
                       batch=2 * gpus, pp=gpus, vpp=chunks, schedule=schedule))
    if gpus > 2:
        out += [run(f"tp2-fsdp{gpus // 2}-l8b-s8192-b1", L8B, gpus, 8192, 1, tp=2, **sharded),
                run(f"pp2-fsdp{gpus // 2}-1f1b-l8b-m4", L8B, gpus, 4096, 1, batch=4 * gpus // 2, pp=2, schedule="1f1b", **sharded)]
    if gpus == 8:
        out += [run("fsdp-l13b-s4096-b2", L13B, 8, 4096, 2, **sharded), run("tp8-l70b8-s8192-b1", L70B8, 8, 8192, 1, tp=8),
                run("tp4-fsdp2-l13b-s4096-b2", L13B, 8, 4096, 2, tp=4, **sharded)]
    return out


def main():
    for record in [*one(), *(record for gpus in (2, 4, 8) for record in several(gpus))]:
        reason = refusal(record)
        if reason:
            raise SystemExit(f"plan.py: {record['id']}: {reason}")
        print(json.dumps(record))


if __name__ == "__main__":
    main()
