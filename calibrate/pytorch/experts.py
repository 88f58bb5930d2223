"""A mixture of experts: router, permutation, all-to-all over the expert group, grouped products, and back.

Tokens go to the experts in turn, so that all are equally full, as the model of a balanced router has it; the weights come
from a real router and its gradient flows.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch import nn


class Exchange(torch.autograd.Function):
    """An all-to-all of equal parts; its gradient is the same exchange backwards."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous(), group=group)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        dist.all_to_all_single(out, grad.contiguous(), group=ctx.group)
        return out, None


class Experts(nn.Module):
    """`experts` gated feed-forwards of which each token visits `top_k`; a rank of `group` holds its share of them."""

    def __init__(self, model, group):
        super().__init__()
        moe, hidden = model["moe"], model["hidden"]
        self.count, self.top, self.group = moe["experts"], moe["top_k"], group
        self.ranks = dist.get_world_size(group) if group is not None else 1
        local = self.count // self.ranks
        self.router = nn.Linear(hidden, self.count, bias=False)
        self.gate, self.up = (nn.Parameter(torch.empty(local, moe["ffn"], hidden)) for _ in range(2))
        self.down = nn.Parameter(torch.empty(local, hidden, moe["ffn"]))

    def expert_parameters(self):
        """The parameters that an expert group splits."""
        return [self.gate, self.up, self.down]

    def forward(self, x):
        tokens = x.flatten(0, -2)
        rows = tokens.shape[0] * self.top
        slots = torch.arange(rows, device=x.device)
        expert = (slots % self.count).view(-1, self.top)
        scores = functional.softmax(self.router(tokens).float(), dim=-1)
        weight = scores.gather(1, expert).to(x.dtype)
        order = expert.flatten().argsort(stable=True)
        sent = tokens.index_select(0, order // self.top)
        local = self.count // self.ranks
        if self.ranks > 1:
            # Sorted by expert they are sorted by rank; behind the exchange rank-major becomes expert-major.
            sent = Exchange.apply(sent, self.group)
            sent = sent.unflatten(0, (self.ranks, local, -1)).transpose(0, 1).flatten(0, 2)
        ends = torch.arange(1, local + 1, device=x.device, dtype=torch.int32) * (sent.shape[0] // local)
        gate, up, down = (part.to(x.dtype).transpose(-2, -1) for part in self.expert_parameters())
        inner = functional.silu(torch._grouped_mm(sent, gate, offs=ends)) * torch._grouped_mm(sent, up, offs=ends)
        back = torch._grouped_mm(inner, down, offs=ends)
        if self.ranks > 1:
            back = back.unflatten(0, (local, self.ranks, -1)).transpose(0, 1).flatten(0, 2)
            back = Exchange.apply(back, self.group)
        # Every token's `top` rows, weighted and summed.
        place = torch.empty_like(order).scatter_(0, order, slots)
        back = back.index_select(0, place).unflatten(0, (-1, self.top))
        return (back * weight.unsqueeze(-1)).sum(1).view_as(x)
