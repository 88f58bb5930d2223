"""A run record of napkin (docs/models.md) as the harness reads it; needs no PyTorch."""

import json

FSDP_BYTES = {"param": 4, "grad": 4, "moments": 8, "master": 0, "compute_copy": 2}
PURE_BYTES = {"param": 2, "grad": 2, "moments": 4, "master": 0}
SCHEDULES = ("none", "gpipe", "1f1b", "interleaved", "interleaved-zb", "zb-v")


def read_rows(path):
    """The objects of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def degree(record, axis):
    """A degree of parallelism of the record's layout, 1 where it is silent."""
    return record["layout"].get(axis, 1)


def micro_batches(record):
    """Micro-batches that one data-parallel rank runs in a step."""
    return record["global_batch"] // (record["micro_batch"] * degree(record, "dp"))


def refusal(record):
    """Why this harness cannot run a record, or None."""
    layout, model = record["layout"], record["model"]
    sizes = [degree(record, axis) for axis in ("tp", "cp", "pp", "dp")]
    product = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    if product != record["gpus"]:
        return f"tp × cp × pp × dp is {product}, but gpus is {record['gpus']}"
    if record["framework"] not in ("pytorch-eager", "pytorch-compile"):
        return f"framework {record['framework']}: write pytorch-eager or pytorch-compile"
    if layout.get("schedule", "none") not in SCHEDULES:
        return f"schedule {layout['schedule']}: write one of {', '.join(SCHEDULES)}"
    if record["global_batch"] % (record["micro_batch"] * sizes[3]):
        return "global_batch is no multiple of micro_batch × dp"
    if layout.get("zero", 0) not in (0, 2, 3):
        return "zero 1: PyTorch's FSDP2 has zero 2 (no reshard) and 3; write 0, 2 or 3"
    if sizes[0] > 1 and not layout.get("sp"):
        return "tp without sp is not run; write \"sp\": true"
    if sizes[1] > 1 and layout.get("zero", 0) == 0:
        return "cp shards its parameters over cp × dp here; write zero 3"
    if layout.get("ep", 1) not in (1, sizes[3]):
        return "ep is 1 or dp here"
    if sizes[3] > 1 and layout.get("zero", 0) == 0 and (sizes[0] > 1 or sizes[2] > 1):
        return "dp beside tp or pp wants zero 2 or 3 here"
    if model.get("moe") and sizes[0] > 1:
        return "experts under tp are not run"
    return None


def flops_per_token(model, sequence):
    """Multiply-adds × 2 of forward and backward a token, causal attention counted half; for the eye, not for a comparison."""
    hidden, heads, kv, dim = model["hidden"], model["heads"], model["kv_heads"], model["head_dim"]
    matrices = hidden * dim * (2 * heads + 2 * kv)
    moe = model.get("moe")
    gates = 3 if model.get("gated", True) else 2
    matrices += gates * hidden * (moe["ffn"] * moe["top_k"] if moe else model["ffn"])
    return 6 * (model["layers"] * matrices + hidden * model["vocab"]) + 6 * model["layers"] * heads * dim * sequence
