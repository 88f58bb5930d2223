"""Pipelines: which layers a rank holds, and the schedule that runs them."""

import torch
from model import decoder, loss_of
from parallel import lay_out
from shape import degree, micro_batches
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleZBVZeroBubble,
)

SCHEDULE = {
    "gpipe": ScheduleGPipe,
    "1f1b": Schedule1F1B,
    "interleaved": ScheduleInterleaved1F1B,
    "interleaved-zb": ScheduleInterleavedZeroBubble,
    "zb-v": ScheduleZBVZeroBubble,
}


def cut(layers, stages):
    """First and last layer of each stage, the first stages one layer longer where they do not divide.

    >>> cut(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    edges = [0]
    for stage in range(stages):
        edges.append(edges[-1] + layers // stages + (stage < layers % stages))
    return list(zip(edges, edges[1:], strict=False))


def stages_of(rank, ranks, chunks, schedule):
    """The stages that a rank holds: in turns, or down and up again in a V.

    >>> stages_of(1, 4, 2, "zb-v"), stages_of(1, 4, 2, "interleaved")
    ([1, 6], [1, 5])
    """
    if schedule == "zb-v":
        return [rank, 2 * ranks - 1 - rank]
    return [rank + chunk * ranks for chunk in range(chunks)]


def boundary(record, stage, stages):
    """What goes into a stage and out of it, without values: one micro-batch of tokens, hidden states or logits."""
    model, rows = record["model"], record["micro_batch"]
    local = record["seq_len"] // degree(record, "tp")
    hidden = torch.empty(rows, local, model["hidden"], dtype=torch.bfloat16, device="meta", requires_grad=True)
    tokens = torch.empty(rows, record["seq_len"], dtype=torch.int64, device="meta")
    logits = torch.empty(rows, record["seq_len"], model["vocab"], dtype=torch.bfloat16, device="meta")
    return (tokens if stage == 0 else hidden,), (logits if stage == stages - 1 else hidden,)


class Pipeline(nn.Module):
    """One rank's stages under a schedule; called with tokens and targets it runs forward and backward."""

    def __init__(self, record, mesh, device):
        super().__init__()
        ranks, schedule = degree(record, "pp"), record["layout"]["schedule"]
        chunks = 1 if schedule in ("gpipe", "1f1b") else max(2, record["layout"].get("vpp", 2))
        rank, group = mesh["pp"].get_local_rank(), mesh["pp"].get_group()
        edges = cut(record["model"]["layers"], ranks * chunks)
        held = stages_of(rank, ranks, chunks, schedule)
        self.parts = nn.ModuleList(lay_out(decoder(record, *edges[stage]), record, mesh, device) for stage in held)
        stages = [PipelineStage(part, stage, ranks * chunks, device, *boundary(record, stage, ranks * chunks), group=group)
                  for part, stage in zip(self.parts, held, strict=True)]
        count = micro_batches(record)
        single = schedule in ("gpipe", "1f1b")
        self.schedule = SCHEDULE[schedule](stages[0] if single else stages, n_microbatches=count, loss_fn=loss_of)
        self.first, self.last = 0 in held, ranks * chunks - 1 in held

    def run(self, tokens, target):
        """One step's forward and backward passes."""
        losses = []
        inputs = (tokens,) if self.first else ()
        self.schedule.step(*inputs, **({"target": target, "losses": losses} if self.last else {}))
