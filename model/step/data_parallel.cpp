#include "model/step/data_parallel.hpp"

#include <algorithm>

namespace napkin {
namespace {

// A sharding group and the groups that hold copies of its shards (HSDP, MiCS; zhao2023fsdp).
struct ShardGroups {
  Group all, shard, replica;
};

ShardGroups shard_groups(std::int64_t ranks, long long stride, std::int64_t n) {
  return {.all = {.size = static_cast<int>(ranks), .stride = stride},
          .shard = {.size = static_cast<int>(n), .stride = stride},
          .replica = {.size = static_cast<int>(ranks / n), .stride = stride * n}};
}

// With the stages of a pipeline inside, the context-parallel ranks of a replica are a block, the next replica's begin behind
// all stages. Shards are made of whole blocks (search/rules.hpp).
ShardGroups blocked_groups(const Layout& l, std::int64_t n) {
  const long long replica = static_cast<long long>(l.tp) * l.cp * l.pp;
  if (l.cp == 1) return shard_groups(l.dp, replica, n);
  const auto blocks = [&](std::int64_t size) {
    return Group{.size = static_cast<int>(size), .stride = l.tp, .block = l.cp, .jump = replica};
  };
  return {.all = blocks(l.dp * l.cp),
          .shard = blocks(n),
          .replica = {.size = static_cast<int>(l.dp * l.cp / n), .stride = replica * std::max<std::int64_t>(1, n / l.cp)}};
}

// Both moments in 16 bits.
constexpr double moments_16bit = 4;

std::int64_t dense_ranks(const Layout& l) { return l.dp * l.cp; }
std::int64_t expert_ranks(const Layout& l) {
  return std::max<std::int64_t>(1, l.dp * l.cp * l.tp / (static_cast<std::int64_t>(l.ep) * l.etp));
}

}  // namespace

std::int64_t shard_ranks(const Job& job, const Layout& l, std::int64_t ranks, long long stride) {
  const DataParallel& dp = job.profile->data_parallel;
  const Network& network = job.hardware->network;
  std::int64_t n = l.zero_group > 0 ? l.zero_group : dp.group > 0 ? dp.group : ranks;
  if (l.zero_group == 0 && dp.shard_within_torus && !network.tiers.empty() &&
      network.tiers[0].topology == Tier::Topology::torus && job.gpus > network.tiers[0].size)
    n = std::max<std::int64_t>(1, network.tiers[0].size / stride);
  return n < ranks && ranks % n == 0 ? n : ranks;
}

StateShards state_shards(const Job& job, const Layout& l) {
  return {.zero = l.zero, .dense = shard_ranks(job, l, dense_ranks(l), l.tp),
          .expert = shard_ranks(job, l, expert_ranks(l), static_cast<long long>(l.ep) * l.etp)};
}

template <class K>
DataParallelCost<K> data_parallel_cost(Scope<K> scope, const Job& job, const Layout& l, const StageCost<K>& stage) {
  Prices<K> prices(scope, job);
  return data_parallel_cost(scope, job, l, stage, prices);
}

template <class K>
DataParallelCost<K> data_parallel_cost(Scope<K> scope, const Job& job, const Layout& l, const StageCost<K>& stage,
                                       Prices<K>& prices) {
  const DataParallel& dp = job.profile->data_parallel;
  const Network& network = job.hardware->network;
  const auto wire_gradient = scope.read("B_wire_grad", dp.gradient_bytes) * (1 * byte);
  const auto wire_parameter = scope.read("B_wire_param", dp.parameter_bytes) * (1 * byte);
  const StateShards shards = state_shards(job, l);
  const bool inside = l.order == RankOrder::replicas_inside;
  const ShardGroups dense = inside ? shard_groups(dense_ranks(l), l.tp, shards.dense) : blocked_groups(l, shards.dense);
  const ShardGroups expert =
      shard_groups(expert_ranks(l), static_cast<long long>(l.ep) * l.etp * (inside ? 1 : l.pp), shards.expert);

  // A group of n of the job's G ranks, where the bus bandwidth over all of them was measured. Rings whose steps wait for the
  // hosts lose bandwidth as they grow, B(n) = B(G)·G/n; a group cannot be faster than that, nor than the links. On a slow
  // cluster it is the steps that take the time, so that a message shorter than the one measured takes as long as that.
  const auto run = [&](const char* name, Operation op, BytesT<K> bytes, const Group& g, ScalarT<K> calls = 1) {
    if (g.size <= 1 || bytes == BytesT<K>{}) return SecondsT<K>{};
    const auto each = bytes / calls;
    const auto time = calls * prices.collective(op, each, g);
    const bool leaves_node = g.span() > network.node_size;
    if (!(job.measured.world > BytesPerSecond{}) || !leaves_node) return let(name, time);
    const auto n = scope.input("n", g.size, "group");
    const auto bus = scope.input("B_world", job.measured.world, "record: network") *
                     scope.input("G", static_cast<double>(job.gpus), "job: accelerators") / n;
    const auto message = slow_cluster(job) ? max(each, scope.read("S_probe", job.profile->host.probe)) : each;
    const auto sent = (op == Operation::all_reduce ? 2.0 : 1.0) * (n - 1) / n * (calls * message);
    return let(name, max(time, choose("no faster than what was measured over all ranks", sent / bus)));
  };
  const bool owned = dp.by_owner && l.zero >= 1 && l.zero < 3;
  const bool whole = l.zero == 0 || owned || (l.zero == 1 && dp.whole_reduction);
  // Gradients: an all-reduce, or a reduce-scatter over the shards and an all-reduce of each shard over the copies.
  const auto reduce = [&](ScalarT<K> parameters, const ShardGroups& g) {
    const BytesT<K> bytes = parameters * wire_gradient;
    if (l.zero == 0 && dp.bucket.value > Bytes{} && bytes > BytesT<K>{}) {
      const auto made = parameters * scope.input("e", Bytes::si(job.precision.base_bytes), "precision");
      const auto calls = let("buckets", max(ScalarT<K>(1), made / scope.read("S_bucket", dp.bucket)));
      return run("t_all_reduce_buckets", Operation::all_reduce, bytes, g.all, calls);
    }
    return run(whole ? "t_all_reduce_grad" : "t_reduce_scatter_grad", whole ? Operation::all_reduce : Operation::reduce_scatter,
               bytes, whole ? g.all : g.shard);
  };
  const auto reduce_replicas = [&](ScalarT<K> parameters, const ShardGroups& g) {
    return run("t_all_reduce_shard", Operation::all_reduce, parameters * wire_gradient / g.shard.size, g.replica);
  };
  // One all-gather; or, where tensors have owners, a broadcast from each rank of the group in turn.
  const auto collect = [&](const char* name, BytesT<K> bytes, const Group& g) {
    if (!owned || g.size <= 1) return run(name, Operation::all_gather, bytes, g);
    return scope.input("n", g.size, "owners in turn") * run(name, Operation::broadcast, bytes / g.size, g);
  };
  // `layers`: those of the parameters that layers hold.
  const bool primary = primary_weights(job);
  const auto wire_layer = primary ? scope.input("e_gemm", Bytes::si(job.precision.gemm_bytes), job.precision.name) : wire_parameter;
  const auto gather = [&](const RankParameters<K>& p, const RankParameters<K>& layers) {
    const auto dense_bytes = primary ? (p.dense - layers.dense) * wire_parameter + layers.dense * wire_layer : p.dense * wire_parameter;
    return collect("t_all_gather_param", dense_bytes, dense.shard) +
           collect("t_all_gather_expert", p.expert * wire_layer, expert.shard);
  };

  DataParallelCost<K> c;
  const RankParameters<K> trained =
      job.adapters.any() ? RankParameters<K>{.dense = stage.parameters.adapters} : stage.parameters;
  c.reduce = let("t_reduce", reduce(trained.dense, dense) + reduce(trained.expert, expert));
  if (!whole)
    c.reduce_replicas =
        let("t_reduce_replicas", reduce_replicas(trained.dense, dense) + reduce_replicas(trained.expert, expert));
  // Both ends hold the tied embedding: their gradients are summed once all are made (narayanan2021; Megatron-Core's embedding
  // group).
  if (l.pp > 1 && job.model->tied_embeddings && !job.adapters.any() && stage.parameters.lookup > ScalarT<K>(0)) {
    const long long step = static_cast<long long>(l.tp) * l.cp * (inside ? l.dp : 1);
    c.tied = run("t_tied_embedding", Operation::all_reduce, stage.parameters.lookup * wire_gradient,
                 Group{.size = 2, .stride = step * (l.pp - 1)});
  }
  if (l.zero >= 1) c.gather = let("t_gather", gather(l.zero >= 3 ? stage.parameters : trained, stage.layers));
  if (l.zero >= 2 && dp.unit_copies) {
    // zhao2023fsdp §4: the shard is cast into the send buffer, the gathered buffer is split into parameters; gradients are
    // cast and packed into the buffer that is reduced.
    const auto all = stage.parameters.dense + stage.parameters.expert;
    const auto own = stage.parameters.dense / static_cast<double>(dense.shard.size) +
                     stage.parameters.expert / static_cast<double>(expert.shard.size);
    const Accelerator& a = job.hardware->accelerator;
    const auto parameter = scope.read("B_param", job.profile->bytes.parameter) * (1 * byte);
    const bool casts = parameter.si() != wire_parameter.si();
    c.gather_copies = let("t_gather_copies",
                          elementwise_cost(scope, a, own * (parameter + wire_parameter), casts ? Traffic::cast : Traffic::stream).time +
                              elementwise_cost(scope, a, all * (2 * wire_parameter)).time,
                          "zhao2023fsdp");
    const auto made = scope.input("e", Bytes::si(job.precision.base_bytes), "precision");
    c.reduce_copies = let("t_reduce_copies",
                          elementwise_cost(scope, a, (trained.dense + trained.expert) * (made + wire_gradient),
                                           made.si() != wire_gradient.si() ? Traffic::cast : Traffic::stream)
                              .time,
                          "zhao2023fsdp");
  }
  if (l.zero >= 3) {
    c.first_unit = let("t_first_unit", gather(stage.unit, stage.unit));
    const auto copy = job.profile->bytes.compute_copy.value > 0 ? scope.read("B_copy", job.profile->bytes.compute_copy)
                                                                  : scope.read("B_param", job.profile->bytes.parameter);
    const auto unit = dp.shard_unit_is_layer ? stage.unit.dense + stage.unit.expert
                                             : stage.parameters.dense + stage.parameters.expert;
    const double units = dp.shard_unit_is_layer ? 2 : 1;
    c.gathered = let("M_gathered", units * unit * copy * (1 * byte), "zhao2023fsdp");
  }
  if (dp.gather_by_tensor && l.zero >= 1 && l.zero < 3 && dense.shard.size > 1)
    c.gather_copies += let("t_unpack", scope.input("weights", stage.weights, "tensors of the stage") *
                                           scope.input("n", dense.shard.size, "group") *
                                           scope.read("t_launch", job.hardware->accelerator.launch));
  const BytePolicy& bytes = job.profile->bytes;
  c.states = state_bytes(scope, bytes, trained, shards);
  if (job.adapters.any()) c.states.parameters += frozen_bytes(scope, job.adapters.frozen_bytes, stage.parameters, shards);
  if (!bytes.gradients_stand && !job.adapters.any()) {
    const auto made = state_bytes(scope, bytes,
                                  RankParameters<K>{.dense = stage.unit.dense + stage.parameters.lookup, .expert = stage.unit.expert},
                                  shards);
    c.last_gradients = made.gradients - made.buckets;
  }
  if (shards.zero >= 1) {
    const auto all = trained.dense + trained.expert;
    c.working_gradients = let("M_working_grad", all * scope.read("B_working", bytes.working_gradient) * (1 * byte));
    if (shards.zero <= 2 && bytes.gather_copies.value > 0) {
      // Whole copies, and the shard that is sent.
      const auto sent = trained.dense / static_cast<double>(shards.dense) + trained.expert / static_cast<double>(shards.expert);
      c.updated = let("M_updated", (all * scope.read("n_copies", bytes.gather_copies) + sent) * wire_parameter);
    }
  }
  // Adam reads gradient, master and moments, writes master, moments and parameters (kingma2015adam), on its shard.
  const auto shard = shards.zero >= 1 ? trained.dense / static_cast<double>(shards.dense) +
                                            trained.expert / static_cast<double>(shards.expert)
                                      : trained.dense + trained.expert;
  const auto traffic = scope.read("B_grad", bytes.gradient) +
                       2 * (scope.read("B_master", bytes.master) + scope.read("B_moments", bytes.moments)) +
                       (bytes.master.value > 0 ? 1.0 : 2.0) * scope.read("B_param", bytes.parameter);
  c.optimizer = let("t_optimizer",
                    elementwise_cost(scope, job.hardware->accelerator, shard * traffic * (1 * byte),
                                     bytes.moments.value.si() > moments_16bit ? Traffic::optimizer : Traffic::optimizer_16bit)
                        .time,
                    "kingma2015adam");
  if (l.optimizer_offload) {
    // Master weights and moments pass through the device layer by layer, in and out at once (rajbhandari2021zeroinfinity);
    // two layers of them are there at a time.
    const auto passing = state_bytes(scope, bytes, job.adapters.any() ? trained : stage.unit, shards).optimizer;
    c.updated = let("M_passing", c.updated + 2 * min(passing, c.states.optimizer), "rajbhandari2021zeroinfinity");
    const auto stream = let("t_stream", c.states.optimizer / scope.read("host bandwidth", job.hardware->accelerator.host_bandwidth));
    c.optimizer = let("t_optimizer", max(c.optimizer, stream), "rajbhandari2021zeroinfinity");
    c.host_states = c.states.optimizer;
    c.states.optimizer = {};
  }
  return c;
}

#define NAPKIN_INSTANTIATE(K)                                                                                       \
  template DataParallelCost<K> data_parallel_cost(Scope<K>, const Job&, const Layout&, const StageCost<K>&);        \
  template DataParallelCost<K> data_parallel_cost(Scope<K>, const Job&, const Layout&, const StageCost<K>&, Prices<K>&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
