"""A decoder in plain PyTorch: the operators that the profile `pytorch-eager` prices, none fused by hand."""

import torch
import torch.nn.functional as functional
from experts import Experts
from torch import nn
from torch.utils.checkpoint import checkpoint


class Linear(nn.Linear):
    """A linear without bias, with an adapter of low rank beside it where `rank` is given."""

    def __init__(self, inner, outer, rank=0):
        super().__init__(inner, outer, bias=False)
        self.down = self.up = None
        if rank:
            self.weight.requires_grad_(False)
            self.down, self.up = nn.Linear(inner, rank, bias=False), nn.Linear(rank, outer, bias=False)

    def forward(self, x):
        y = super().forward(x)
        return y if self.down is None else y + self.up(self.down(x)) * 2.0


def rotate(x, cos, sin):
    """Rotary positions of [batch, heads, sequence, head_dim]."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class Attention(nn.Module):
    """Grouped-query attention; the number of heads follows from the width of the projections, so that TP may split them."""

    def __init__(self, model, rank):
        super().__init__()
        self.dim = model["head_dim"]
        self.repeat = model["heads"] // model["kv_heads"]
        self.query = Linear(model["hidden"], model["heads"] * self.dim, rank)
        self.key = Linear(model["hidden"], model["kv_heads"] * self.dim, rank)
        self.value = Linear(model["hidden"], model["kv_heads"] * self.dim, rank)
        self.out = Linear(model["heads"] * self.dim, model["hidden"], rank)

    def forward(self, x, cos, sin):
        q, k, v = (part(x).unflatten(-1, (-1, self.dim)).transpose(1, 2) for part in (self.query, self.key, self.value))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.repeat > 1)
        return self.out(y.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    """SwiGLU, or GELU between two matrices."""

    def __init__(self, model, rank):
        super().__init__()
        self.gate = Linear(model["hidden"], model["ffn"], rank) if model.get("gated", True) else None
        self.up = Linear(model["hidden"], model["ffn"], rank)
        self.down = Linear(model["ffn"], model["hidden"], rank)

    def forward(self, x):
        if self.gate is None:
            return self.down(functional.gelu(self.up(x)))
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """One layer: norm, attention, norm, feed-forward or experts."""

    def __init__(self, model, rank, group):
        super().__init__()
        self.attention_norm, self.feed_norm = nn.RMSNorm(model["hidden"]), nn.RMSNorm(model["hidden"])
        self.attention = Attention(model, rank)
        self.feed = Experts(model, group) if model.get("moe") else FeedForward(model, rank)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed(self.feed_norm(x))


class Decoder(nn.Module):
    """Layers `first` to `last` of a model, with the embedding before the first layer and the head behind the last one."""

    def __init__(self, record, first=0, last=None, group=None):
        super().__init__()
        model = record["model"]
        last = model["layers"] if last is None else last
        rank = record.get("lora", {}).get("rank", 0)
        self.full_recompute = record.get("recompute") == "full"
        self.embedding = nn.Embedding(model["vocab"], model["hidden"]) if first == 0 else None
        self.blocks = nn.ModuleList(Block(model, rank, group) for _ in range(first, last))
        ends = last == model["layers"]
        self.norm = nn.RMSNorm(model["hidden"]) if ends else None
        self.head = nn.Linear(model["hidden"], model["vocab"], bias=False) if ends else None
        self.register_buffer("cos", torch.empty(record["seq_len"], model["head_dim"] // 2), persistent=False)
        self.register_buffer("sin", torch.empty(record["seq_len"], model["head_dim"] // 2), persistent=False)

    def initialise(self, record):
        """Values on the device, after `to_empty`; an adapter leaves its base frozen, with embedding, norms and head."""
        for name, parameter in self.named_parameters():
            with torch.no_grad():
                nn.init.ones_(parameter) if "norm" in name else nn.init.normal_(parameter, std=0.02)
            if record.get("task") == "lora":
                parameter.requires_grad_(name.endswith(("down.weight", "up.weight")) and name.count(".") == 5)
        dim = 2 * self.cos.shape[1]
        rates = 10000 ** (-torch.arange(0, dim, 2, device=self.cos.device, dtype=torch.float32) / dim)
        angles = torch.outer(torch.arange(self.cos.shape[0], device=self.cos.device), rates)
        self.cos, self.sin = angles.cos().to(self.cos.dtype), angles.sin().to(self.sin.dtype)

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            if self.full_recompute:
                x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False)
            else:
                x = block(x, self.cos, self.sin)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(logits, target):
    """Cross entropy on logits in fp32."""
    return functional.cross_entropy(logits.flatten(0, -2).float(), target.flatten())


def decoder(record, first=0, last=None, group=None):
    """A decoder without values (on the meta device): parallel.lay_out gives it some."""
    with torch.device("meta"):
        return Decoder(record, first, last, group)
