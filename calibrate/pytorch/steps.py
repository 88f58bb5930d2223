"""Runs the training steps of a plan and writes them as measured run records.

    torchrun --nproc-per-node 8 steps.py planned.jsonl --out runs.jsonl     # every record of the plan for 8 GPUs
    python3 steps.py planned.jsonl --out runs.jsonl                          # those for one
    python3 steps.py planned.jsonl --out memory.jsonl --alone 8              # each rank of 8 on one GPU, its messages free: memory only
    torchrun --nproc-per-node 4 steps.py planned.jsonl --out /dev/null --rehearse    # on CPUs, shapes shrunk
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from model import decoder, loss_of
from parallel import casts, context_split, expert_group, lay_out, make_mesh, start
from pipeline import Pipeline
from shape import degree, micro_batches, read_rows, refusal
from shrink import shrink


class Clock:
    """Marks on the device's time line (host's on a CPU) and the seconds between them."""

    def __init__(self, device):
        self.device, self.marks = device, []

    def mark(self):
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def between(self):
        if self.device.type != "cuda":
            return [b - a for a, b in zip(self.marks, self.marks[1:], strict=False)]
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in zip(self.marks, self.marks[1:], strict=False)]


class Step:
    """The model, optimizer and data of one record; `run` takes one step and returns its phases in seconds."""

    def __init__(self, record, device):
        self.record, self.device = record, device
        self.mesh = make_mesh(record, device)
        self.pipelined = degree(record, "pp") > 1
        if self.pipelined:
            self.model = Pipeline(record, self.mesh, device)
        else:
            self.model = lay_out(decoder(record, group=expert_group(record, self.mesh)), record, self.mesh, device)
        self.count = micro_batches(record)
        batch = record["micro_batch"] * (self.count if self.pipelined else 1)
        shape = (batch, record["seq_len"])
        self.tokens = torch.randint(record["model"]["vocab"], shape, device=device)
        self.target = torch.randint(record["model"]["vocab"], shape, device=device)
        # A fused update takes tensors of one mesh.
        alike = {}
        for p in self.model.parameters():
            if p.requires_grad:
                alike.setdefault(getattr(p, "device_mesh", None), []).append(p)
        self.adam = torch.optim.AdamW([{"params": group} for group in alike.values()], lr=1e-5, fused=True)

    def split(self):
        """The step's tensors cut over the context group; the rotary tables with them."""
        if degree(self.record, "cp") == 1:
            return context_split(self.record, self.mesh, [], [])
        self.cut = [self.tokens.clone(), self.target.clone()]
        return context_split(self.record, self.mesh, [*self.cut, self.model.cos, self.model.sin], [1, 1, 0, 0])

    def run(self):
        clock = Clock(self.device)
        clock.mark()
        if self.pipelined:
            self.model.run(self.tokens, self.target)
            clock.mark()
            self.update()
            clock.mark()
            return clock
        with self.split():
            tokens, target = getattr(self, "cut", (self.tokens, self.target))
            for turn in range(self.count):
                if hasattr(self.model, "set_requires_gradient_sync"):
                    self.model.set_requires_gradient_sync(turn == self.count - 1)
                with casts(self.record, self.device):
                    loss = loss_of(self.model(tokens), target)
                clock.mark()
                loss.backward()
                clock.mark()
        self.update()
        clock.mark()
        return clock

    def update(self):
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)


def by_rank(value):
    """A figure of every rank, in order."""
    if not dist.is_initialized() or dist.get_backend() == "fake":
        return [value]
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, value)
    return out


def measure(record, device, warm, count):
    """The `measured` member of a record."""
    step = Step(record, device)
    for _ in range(warm):
        step.run()
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    if dist.is_initialized():
        dist.barrier()
    walls, phases = [], []
    for _ in range(count):
        started = time.perf_counter()
        phases.append(step.run().between())
        walls.append(max(by_rank(time.perf_counter() - started)))
    gib = 2.0**30
    cuda = device.type == "cuda"
    allocated = by_rank(torch.cuda.max_memory_allocated() / gib if cuda else 1.0)
    reserved = by_rank(torch.cuda.max_memory_reserved() / gib if cuda else 1.0)
    seconds = statistics.median(walls)
    tokens = record["global_batch"] * record["seq_len"]
    measured = {"oom": False, "memory_of": "max", "step_time_s": seconds, "step_min_s": min(walls),
                "tokens_per_s_per_gpu": tokens / seconds / record["gpus"], "alloc_gib": max(allocated), "reserved_gib": max(reserved)}
    if len(allocated) > 1:
        measured |= {"alloc_by_rank_gib": allocated, "reserved_by_rank_gib": reserved}
    if not step.pipelined:
        parts = {"forward_s": lambda p: sum(p[0:-1:2]), "backward_s": lambda p: sum(p[1:-1:2]), "optimizer_s": lambda p: p[-1]}
        measured |= {name: statistics.median(take(p) for p in phases) for name, take in parts.items()}
    return measured


def attempt(record, device, warm, count):
    """As `measure`; running out of memory is a result."""
    try:
        return measure(record, device, warm, count)
    except torch.cuda.OutOfMemoryError:
        return {"oom": True}
    finally:
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def alone(record, device, world):
    """Every rank of a record in turn on one device, its messages free: their memory, and no time."""
    found = []
    # Ranks of one stage are alike.
    per_stage = world // degree(record, "pp")
    for stage in range(degree(record, "pp")):
        start(stage * per_stage, world, True, device)
        try:
            found.append(attempt(record, device, 1, 1))
        finally:
            dist.destroy_process_group()
    if any(f["oom"] for f in found):
        return {"oom": True}
    measured = {"oom": False, "memory_of": "max"}
    measured |= {name: max(f[name] for f in found) for name in ("alloc_gib", "reserved_gib")}
    if len(found) > 1:
        measured["alloc_by_rank_gib"] = [f["alloc_gib"] for f in found for _ in range(per_stage)]
    return measured


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", help="run records without a `measured` member (JSON lines)")
    parser.add_argument("--out", required=True, help="file that the measured records are added to")
    parser.add_argument("--only", default="", help="records whose id contains this")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--alone", type=int, default=0, metavar="N", help="records of N GPUs, rank after rank on one: memory only")
    parser.add_argument("--rehearse", action="store_true", help="on CPUs with shrunk shapes: does every layout run?")
    return parser.parse_args()


def main():
    options = arguments()
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    device = torch.device("cpu")
    if not options.rehearse:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    torch.set_float32_matmul_precision("high")
    if not options.alone:
        start(rank, world, False, device)
    failed = 0
    for record in read_rows(options.plan):
        if record["gpus"] != (options.alone or world) or options.only not in record["id"]:
            continue
        reason = refusal(record)
        try:
            if reason:
                raise ValueError(reason)
            if options.rehearse:
                record = shrink(record)
            measured = alone(record, device, options.alone) if options.alone else attempt(record, device, 3, options.steps)
        except Exception as error:  # the next record may run
            failed += 1
            print(f"{record['id']}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            if world > 1 and not reason:
                raise  # the other ranks wait in a collective: the launcher ends them all
            continue
        if rank == 0:
            with open(options.out, "a", encoding="utf-8") as out:
                out.write(json.dumps({**record, "measured": measured}) + "\n")
            print(record["id"], {k: v for k, v in measured.items() if k.endswith("_s") or k in ("alloc_gib", "oom")}, flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
