"""Lays a decoder out over a mesh: tensor, context, data and expert parallelism. Pipelines are cut in pipeline.py."""

import contextlib

import torch
import torch.distributed as dist
from experts import Experts
from shape import degree
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


def make_mesh(record, device):
    """The mesh of a record, or None of one process: pipeline outermost, tensor parallelism innermost."""
    if record["gpus"] == 1:
        return None
    axes = ("pp", "dp", "cp", "tp")
    mesh = init_device_mesh(device.type, [degree(record, axis) for axis in axes], mesh_dim_names=axes)
    if degree(record, "cp") * degree(record, "dp") > 1:
        mesh["dp", "cp"]._flatten("shard")
    return mesh


def expert_group(record, mesh):
    """The process group over which experts are spread, or None."""
    return mesh["dp"].get_group() if degree(record, "ep") > 1 else None


def split_tensors(model, mesh):
    """Tensor parallelism with sequence-parallel norms, by PyTorch's own styles."""
    plan = {}
    if model.embedding is not None:
        plan["embedding"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
    if model.head is not None:
        plan["norm"] = SequenceParallel()
        plan["head"] = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate(), use_local_output=True)
    parallelize_module(model, mesh, plan)
    for block in model.blocks:
        plan = {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1), None, None), desired_input_layouts=(Replicate(), None, None)),
            "feed_norm": SequenceParallel(),
            "feed": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        }
        for name in ("attention.query", "attention.key", "attention.value", "feed.up", "feed.gate"):
            plan[name] = ColwiseParallel()
        for name in ("attention.out", "feed.down"):
            plan[name] = RowwiseParallel(output_layouts=Shard(1))
        parallelize_module(block, mesh, plan)


def shard_parameters(model, record, mesh):
    """FSDP2: fp32 shards, bf16 compute, fp32 gradients; zero 2 keeps the gathered parameters until the backward."""
    reshard = record["layout"].get("zero") == 3
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    own = set()
    if degree(record, "ep") > 1:
        own = {p for m in model.modules() if isinstance(m, Experts) for p in m.expert_parameters()}
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard, ignored_params=own & set(block.parameters()))
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard, ignored_params=own)


def parameter_type(record):
    """fp32 parameters under FSDP or autocast, bf16 otherwise: the record's bytes_per_param say."""
    return torch.float32 if record.get("bytes_per_param", {}).get("param") == 4 else torch.bfloat16


def lay_out(model, record, mesh, device):
    """The decoder (on the meta device) as the record's layout has it, with values on `device`."""
    model.to(parameter_type(record))
    if degree(record, "tp") > 1:
        split_tensors(model, mesh["tp"])
    zero = record["layout"].get("zero", 0)
    if record["framework"] == "pytorch-compile":
        for block in model.blocks:
            block.compile()
    if zero and mesh is not None:
        shard_parameters(model, record, mesh["shard"])
    model.to_empty(device=device)
    model.initialise(record)
    model.cos, model.sin = model.cos.bfloat16(), model.sin.bfloat16()
    if degree(record, "dp") > 1 and not zero:
        return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None, process_group=mesh["dp"].get_group())
    return model


def context_split(record, mesh, buffers, dimensions):
    """Cuts the sequence over the context group for one step; keys and values go round a ring or are gathered."""
    if degree(record, "cp") == 1:
        return contextlib.nullcontext()
    from torch.distributed.tensor import experimental

    try:
        from torch.distributed.tensor.experimental._context_parallel._attention import set_rotate_method
    except ImportError:  # before 2.10
        from torch.distributed.tensor.experimental._attention import set_rotate_method

    set_rotate_method("allgather" if record["layout"].get("cp_exchange") == "all-gather" else "alltoall")
    return experimental.context_parallel(mesh["cp"], buffers=buffers, buffer_seq_dims=dimensions)


def casts(record, device):
    """Autocast where fp32 parameters are not sharded."""
    if parameter_type(record) == torch.float32 and not record["layout"].get("zero", 0):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return contextlib.nullcontext()


def start(rank, world, fake, device):
    """The process group: NCCL on GPUs, Gloo on CPUs; `fake` is one process that stands for one rank, its messages free."""
    if world == 1:
        return
    if fake:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    else:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
