"""Kernels of a training step that `napkin calibrate measure` does not run itself, since they are PyTorch's or Triton's.

    python3 kernels.py > kernels.jsonl          # one GPU, about four minutes; rows in the form of docs/measurements.md
    python3 kernels.py attention grouped_mm     # some groups only
"""

import json
import sys

import torch
import torch.nn.functional as functional
from timing import device_time, host_time, wall_time
from torch.nn.attention import SDPBackend, sdpa_kernel

BF16 = torch.bfloat16


def emit(kind, shape, timed):
    """One measured row on standard output."""
    print(json.dumps({"kind": kind, **shape, **timed}), flush=True)


def random(*shape, grad=False, dtype=BF16):
    """A tensor of normal values on the device."""
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=grad)


def attention():
    """Scaled dot-product attention with and without dropout: b s hq hk d causal."""
    shapes = [(16, 1024, 16, 16, 64, True), (8, 2048, 16, 16, 64, True), (4, 4096, 32, 32, 128, True), (4, 4096, 32, 8, 128, True),
              (1, 16384, 32, 8, 128, True), (32, 512, 16, 16, 64, False)]
    for b, s, hq, hk, d, causal in shapes:
        q, k, v = random(b, hq, s, d, grad=True), random(b, hk, s, d, grad=True), random(b, hk, s, d, grad=True)
        seed = random(b, hq, s, d)
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            for dropout in (0.0, 0.1):
                shape = {"backend": backend.name, "b": b, "s": s, "hq": hq, "hk": hk, "d": d, "causal": causal}
                suffix = ""
                if dropout:
                    shape["dropout"], suffix = dropout, "_dropout"

                def forward(dropout=dropout, backend=backend):
                    with sdpa_kernel(backend):
                        return functional.scaled_dot_product_attention(
                            q, k, v, dropout_p=dropout, is_causal=causal, enable_gqa=hq != hk)

                try:
                    with torch.no_grad():
                        emit("attn_fwd" + suffix, shape, device_time(forward))
                    out = forward()
                    emit("attn_bwd" + suffix, shape,
                         device_time(lambda out=out: torch.autograd.grad(out, (q, k, v), seed, retain_graph=True)))
                except RuntimeError as error:
                    print(f"attention {shape}: {str(error).splitlines()[0]}", file=sys.stderr)


def grouped_mm():
    """Grouped products of expert layers: `batch` experts of `m` rows each, k inner; forward form and weight-gradient form."""
    experts = [("mixtral-8x7b", 8, 4096, 14336), ("deepseek-v3", 32, 7168, 2048), ("qwen3-30b-a3b", 128, 2048, 768),
               ("qwen3-235b-a22b", 16, 4096, 1536), ("gpt-oss", 32, 2880, 2880)]
    for name, groups, hidden, ffn in experts:
        for up, (k, n) in ((True, (hidden, 2 * ffn)), (False, (ffn, hidden))):
            weight = random(groups, n, k).transpose(-2, -1)
            for m in (64, 128, 256, 512, 1024, 2048):
                if groups * m * max(k, n) > 1 << 31:
                    continue
                rows, out = random(groups * m, k), random(groups * m, n)
                offsets = torch.arange(1, groups + 1, device="cuda", dtype=torch.int32) * m
                shape = {"dtype": "bf16", "batch": groups, "m": m, "n": n, "k": k, "of": name, "part": "up" if up else "down"}
                emit("grouped_mm", {**shape, "pass": "forward"}, device_time(lambda: torch._grouped_mm(rows, weight, offs=offsets)))
                emit("grouped_mm", {**shape, "n": k, "k": n, "pass": "input gradient"},
                     device_time(lambda: torch._grouped_mm(out, weight.transpose(-2, -1), offs=offsets)))
                emit("grouped_mm", {**shape, "m": n, "n": k, "k": m, "pass": "weight gradient"},
                     device_time(lambda: torch._grouped_mm(out.t(), rows, offs=offsets)))


def balance():
    """A grouped product where one expert has `fullest` times the mean and the others share the rest."""
    groups, m, k, n = 32, 512, 7168, 4096
    weight, rows = random(groups, n, k).transpose(-2, -1), random(groups * m, k)
    for heaviest in (1.0, 1.5, 2.0, 4.0):
        counts = torch.full((groups,), (groups - heaviest) * m / (groups - 1)).round()
        counts[0] = groups * m - counts[1:].sum()
        offsets = counts.cumsum(0).to("cuda", torch.int32)
        emit("grouped_mm_unequal", {"dtype": "bf16", "batch": groups, "m": m, "n": n, "k": k, "fullest": heaviest},
             device_time(lambda offsets=offsets: torch._grouped_mm(rows, weight, offs=offsets)))


def activation():
    """SwiGLU of separate operators, plain and clamped (gate above, up on both sides, as in gpt-oss)."""

    def plain(gate, up):
        return functional.silu(gate) * up

    def clamped(gate, up):
        gate, up = gate.clamp(max=7.0), up.clamp(-7.0, 7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up + 1)

    for tokens, width in ((8192, 14336), (16384, 2880), (32768, 2880)):
        gate, up, seed = random(tokens, width, grad=True), random(tokens, width, grad=True), random(tokens, width)
        for name, function in (("swiglu", plain), ("swiglu_clamped", clamped)):
            shape = {"op": name, "tokens": tokens, "h": width, "dtype": "bf16"}
            emit("activation_fwd", shape, device_time(lambda function=function: function(gate, up)))
            out = function(gate, up)
            emit("activation_bwd", shape,
                 device_time(lambda out=out: torch.autograd.grad(out, (gate, up), seed, retain_graph=True)))


def loss():
    """Cross entropy on logits of bf16 raised to fp32 first."""
    for tokens, vocab in ((4096, 50304), (8192, 32000), (8192, 128256)):
        logits = random(tokens, vocab, grad=True)
        target = torch.randint(vocab, (tokens,), device="cuda")
        shape = {"tokens": tokens, "vocab": vocab}

        def forward():
            return functional.cross_entropy(logits.float(), target)

        emit("cross_entropy_fp32_fwd", shape, device_time(forward))
        out = forward()
        emit("cross_entropy_fp32_bwd", shape, device_time(lambda out=out: torch.autograd.grad(out, logits, retain_graph=True)))


def embedding():
    """The lookup and its gradient: rows of a table of `vocab`, each token's gradient added to its row."""
    for tokens, hidden, vocab in ((8192, 768, 50304), (8192, 4096, 32000), (8192, 4096, 128256), (32768, 4096, 128256)):
        table = random(vocab, hidden, grad=True)
        ids, seed = torch.randint(vocab, (tokens,), device="cuda"), random(tokens, hidden)
        shape = {"tokens": tokens, "h": hidden, "vocab": vocab, "dtype": "bf16"}
        emit("embedding_fwd", shape, device_time(lambda: functional.embedding(ids, table)))
        out = functional.embedding(ids, table)
        emit("embedding_bwd", shape, device_time(lambda: torch.autograd.grad(out, table, seed, retain_graph=True)))


def optimizer():
    """AdamW over many tensors: time by the host's clock, so the larger of issuing the kernels and running them."""
    for tensors, elements in ((100, 65536), (448, 65536), (1792, 65536), (448, 1048576), (291, 16777216)):
        for kind in ("fused", "foreach", "for-loop"):
            if kind == "for-loop" and tensors > 448:
                continue
            weights = [torch.nn.Parameter(random(elements)) for _ in range(tensors)]
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            adam = torch.optim.AdamW(weights, lr=1e-4, fused=kind == "fused", foreach=kind == "foreach")
            shape = {"implementation": kind, "tensors": tensors, "elements": elements, "dtype": "bf16"}
            emit("adamw_step", shape, wall_time(adam.step, samples=5))
            if kind == "fused":
                shape.pop("implementation")
                emit("clip_grad_norm", shape, wall_time(lambda weights=weights: torch.nn.utils.clip_grad_norm_(weights, 1.0), samples=5))
            del adam, weights
            torch.cuda.empty_cache()


def launch():
    """Host time to issue one operator of eager mode, alone and in a graph of autograd; first the shortest kernel's own time."""
    small, weight = random(64, 64), random(64, 64)
    emit("launch", {"what": "add_ of 64 × 64, queued"}, device_time(lambda: small.add_(0.0)))
    leaf, norm = random(64, 64, grad=True), random(64, grad=True)
    operators = {
        "add": lambda x: x + 1.0,
        "mul": lambda x: x * x,
        "cast": lambda x: x.float(),
        "linear": lambda x: functional.linear(x, weight),
        "rms_norm": lambda x: functional.rms_norm(x, (64,), norm),
        "silu": functional.silu,
        "transpose": lambda x: x.transpose(0, 1),
        "reshape": lambda x: x.reshape(32, 128),
    }
    for name, operator in operators.items():
        with torch.no_grad():
            emit("launch_op", {"op": name, "autograd": False}, host_time(lambda operator=operator: operator(small)))
        emit("launch_op", {"op": name, "autograd": True}, host_time(lambda operator=operator: operator(leaf)))

    def chain():
        value = leaf
        for _ in range(100):
            value = functional.silu(functional.linear(value, weight))
        return value.sum()

    emit("launch_chain", {"op": "100 × (linear, silu)", "pass": "forward"}, wall_time(chain))
    out = chain()
    emit("launch_chain", {"op": "100 × (linear, silu)", "pass": "backward"},
         wall_time(lambda: torch.autograd.grad(out, leaf, retain_graph=True)))


def scan():
    """The Mamba-2 scan in chunks of 256: mamba_ssm's Triton kernels where they are installed, else nothing."""
    try:
        from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined
    except ImportError as error:
        print(f"scan: mamba_ssm is not installed ({error}); no row", file=sys.stderr)
        return
    for b, s, heads, head_dim, groups, state in ((2, 4096, 80, 64, 8, 128), (1, 8192, 128, 64, 8, 128), (4, 4096, 80, 64, 8, 128)):
        x, dt = random(b, s, heads, head_dim, grad=True), torch.rand(b, s, heads, device="cuda", dtype=BF16, requires_grad=True)
        decay = (-torch.rand(heads, device="cuda")).requires_grad_()
        into, outof = random(b, s, groups, state, grad=True), random(b, s, groups, state, grad=True)
        skip, seed = torch.ones(heads, device="cuda", requires_grad=True), random(b, s, heads, head_dim)

        def forward():
            return mamba_chunk_scan_combined(x, dt, decay, into, outof, chunk_size=256, D=skip)

        shape = {"b": b, "s": s, "heads": heads, "head_dim": head_dim, "groups": groups, "state": state, "chunk": 256, "dtype": "bf16"}
        with torch.no_grad():
            emit("scan_fwd", shape, device_time(forward))
        out = forward()
        emit("scan_bwd", shape,
             device_time(lambda out=out: torch.autograd.grad(out, (x, dt, decay, into, outof, skip), seed, retain_graph=True)))


GROUPS = {each.__name__: each for each in (launch, optimizer, loss, embedding, activation, attention, grouped_mm, balance, scan)}


def main():
    chosen = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in chosen if name not in GROUPS]
    if unknown:
        sys.exit(f"kernels.py: no group {unknown[0]}; there are {', '.join(GROUPS)}")
    torch.manual_seed(1)
    print(json.dumps({"kind": "device", "name": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                      "timer": "loop", "regime": "sustained"}), flush=True)
    for name in chosen:
        try:
            GROUPS[name]()
        except Exception as error:  # one group that fails leaves the others their time
            print(f"kernels.py: {name}: {type(error).__name__}: {error}", file=sys.stderr)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
