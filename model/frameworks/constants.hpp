// Every constant of a framework's profile, with the place a profile holds it at.
#pragma once

#include <string_view>
#include <type_traits>

#include "model/frameworks/profile.hpp"

namespace napkin {

// Calls f(path, constant) for every constant of a profile; "/host/step" is where its file holds it. `P` is Profile,
// whose constants f may change, or const Profile. Residuals are errors of predictions, not causes of them: left out.
template <class P, class F>
requires std::is_same_v<std::remove_const_t<P>, Profile>
void for_each_constant(P& p, F f) {
  f("/bytes/parameter", p.bytes.parameter);
  f("/bytes/gradient", p.bytes.gradient);
  f("/bytes/master", p.bytes.master);
  f("/bytes/moments", p.bytes.moments);
  f("/bytes/compute_copy", p.bytes.compute_copy);
  f("/bytes/bucket", p.bytes.bucket);
  f("/bytes/working_gradient", p.bytes.working_gradient);
  f("/bytes/gather_copies", p.bytes.gather_copies);
  f("/data_parallel/gradient_bytes", p.data_parallel.gradient_bytes);
  f("/data_parallel/parameter_bytes", p.data_parallel.parameter_bytes);
  f("/data_parallel/usable_window", p.data_parallel.usable_window);
  f("/data_parallel/contention", p.data_parallel.contention);
  f("/data_parallel/bucket", p.data_parallel.bucket);
  f("/saved/norm_statistics", p.saved.norm_statistics);
  f("/saved/logits", p.saved.logits);
  f("/saved/logits_kept", p.saved.logits_kept);
  f("/saved/pipeline_outputs", p.saved.pipeline_outputs);
  f("/saved/autocast", p.saved.autocast);
  f("/elementwise/traffic", p.elementwise.traffic);
  f("/elementwise/rope", p.elementwise.rope);
  f("/elementwise/gate", p.elementwise.gate);
  f("/elementwise/clamp_forward", p.elementwise.clamp_forward);
  f("/elementwise/clamp_backward", p.elementwise.clamp_backward);
  f("/elementwise/scan_forward", p.elementwise.scan_forward);
  f("/elementwise/scan_backward", p.elementwise.scan_backward);
  f("/elementwise/kernels", p.elementwise.kernels);
  f("/elementwise/loss_passes", p.elementwise.loss_passes);
  f("/overlap/tensor_parallel", p.overlap.tensor_parallel);
  f("/overlap/expert_parallel", p.overlap.expert_parallel);
  f("/overlap/expert_parallel_chunks", p.overlap.expert_parallel_chunks);
  f("/overlap/context_parallel", p.overlap.context_parallel);
  f("/overlap/pipeline", p.overlap.pipeline);
  f("/host/step", p.host.step);
  f("/host/launch", p.host.launch);
  f("/host/tp_forward", p.host.tp_forward);
  f("/host/tp_backward", p.host.tp_backward);
  f("/host/tp_step", p.host.tp_step);
  f("/host/probe", p.host.probe);
  f("/host/slow_hop", p.host.slow_hop);
  f("/host/slow_below", p.host.slow_below);
  f("/host/sharded_update", p.host.sharded_update);
  f("/memory/context", p.memory.context);
  f("/memory/communicator", p.memory.communicator);
  f("/memory/workspace", p.memory.workspace);
  f("/memory/gather_buffers", p.memory.gather_buffers);
  f("/memory/held_whole", p.memory.held_whole);
  f("/memory/held_shards", p.memory.held_shards);
  f("/memory/pinned", p.memory.pinned);
  f("/memory/remap", p.memory.remap);
  f("/memory/boundary_tensors", p.memory.boundary_tensors);
  f("/memory/fragmentation", p.memory.fragmentation);
  f("/compute/gemm_share", p.gemm_share);
  f("/compute/straggler", p.straggler);
  f("/moe/imbalance", p.expert_imbalance);
  f("/moe/learned_imbalance", p.learned_imbalance);
  f("/moe/permute_passes", p.permute_passes);
  f("/moe/gemm_share", p.expert_gemm_share);
  f("/moe/weight_fill", p.expert_fill);
  f("/moe/sync", p.expert_sync);
  f("/moe/launches", p.expert_launches);
  f("/moe/quantised_launches", p.expert_quantised);
}

}  // namespace napkin
