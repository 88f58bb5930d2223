#include "model/search/rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "model/step/data_parallel.hpp"
#include "model/step/split.hpp"

namespace napkin {
namespace {

template <class Test>
bool every_kind(const Job& j, Test test) {
  return std::all_of(j.model->kinds.begin(), j.model->kinds.end(), test);
}
bool has_experts(const Job& j) {
  return std::any_of(j.model->kinds.begin(), j.model->kinds.end(), [](const LayerKind& k) { return k.ffn.moe.has_value(); });
}

bool tp_divides_heads(const Job& j, const Layout& l) {
  return every_kind(j, [&](const LayerKind& k) {
    return (!k.attention || k.attention->heads % l.tp == 0) && (!k.mamba || k.mamba->heads % l.tp == 0) &&
           (!k.linear || (k.linear->value_heads % l.tp == 0 && k.linear->key_heads % l.tp == 0));
  });
}
bool tp_and_kv_heads(const Job& j, const Layout& l) {
  return every_kind(j, [&](const LayerKind& k) {
    if (!k.attention || k.attention->is_mla) return true;
    const int kv = k.attention->kv_heads;
    return kv % l.tp == 0 || (j.profile->kv_replication && l.tp % kv == 0);
  });
}
bool tp_divides_ffn(const Job& j, const Layout& l) {
  return every_kind(j, [&](const LayerKind& k) {
    return k.ffn.width % l.tp == 0 && (!k.ffn.moe || k.ffn.moe->shared_ffn % l.tp == 0);
  });
}
bool cp_divides_sequence(const Job& j, const Layout& l) { return l.cp == 1 || j.sequence % (2LL * l.cp) == 0; }
bool exchange_needs_cp(const Job&, const Layout& l) { return l.cp > 1 || l.exchange == ExchangeChoice::usual; }
bool cp_divides_recurrent_heads(const Job& j, const Layout& l) {
  return l.cp == 1 || every_kind(j, [&](const LayerKind& k) {
           return !k.linear || (k.linear->value_heads / l.tp % l.cp == 0 && k.linear->key_heads / l.tp % l.cp == 0);
         });
}
bool cp_divides_heads(const Job& j, const Layout& l) {
  if (l.cp == 1 || context_exchange(j, l) != ContextExchange::all_to_all) return true;
  return every_kind(j, [&](const LayerKind& k) {
    if (!k.attention) return true;
    const int heads = k.attention->heads / l.tp;
    const int kv = k.attention->is_mla ? heads : std::max(1, k.attention->kv_heads / l.tp);
    return heads % l.cp == 0 && (kv % l.cp == 0 || l.cp % kv == 0);
  });
}
bool ep_divides_experts(const Job& j, const Layout& l) {
  return every_kind(j, [&](const LayerKind& k) { return !k.ffn.moe || k.ffn.moe->experts % l.ep == 0; }) &&
         (l.ep == 1 || has_experts(j));
}
bool etp_divides_expert_ffn(const Job& j, const Layout& l) {
  return every_kind(j, [&](const LayerKind& k) { return !k.ffn.moe || k.ffn.moe->ffn % l.etp == 0; }) &&
         (l.etp == 1 || has_experts(j));
}
bool world_divides(const Job& j, const Layout& l) {
  return j.gpus % (static_cast<std::int64_t>(l.tp) * l.cp * l.pp) == 0;
}
bool expert_world_divides(const Job& j, const Layout& l) {
  return j.gpus % (static_cast<std::int64_t>(l.ep) * l.etp * l.pp) == 0;
}
bool layers_split(const Job& j, const Layout& l) {
  // Even, or even once the embedding, the head or both count as a layer; any split where the framework takes it.
  const auto depth = static_cast<std::int64_t>(j.model->depth());
  const std::int64_t chunks = static_cast<std::int64_t>(l.pp) * l.vpp;
  return depth + 2 >= chunks && (j.profile->uneven_split || depth % chunks == 0 || (depth + 1) % chunks == 0 || (depth + 2) % chunks == 0);
}
bool schedule_has_shape(const Job&, const Layout& l) {
  switch (l.schedule) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b: return l.vpp == 1 || l.pp == 1;
    case Schedule::interleaved: return true;
    case Schedule::looped_bfs:
    case Schedule::zb_interleaved: return l.pp > 1;
    case Schedule::zb_h1:
    case Schedule::zb_h2: return l.pp > 1 && l.vpp == 1;
    case Schedule::dualpipe: return l.pp % 2 == 0 && l.vpp == 1;
    case Schedule::zb_v:
    case Schedule::dualpipe_v: return l.pp > 1 && l.vpp == 2;
  }
  return false;
}
bool interleaving_overlaps(const Job& j, const Layout& l) {
  return l.vpp == 1 || l.pp != 2 || j.profile->overlap.pipeline.value > 0;
}
bool order_on_switches(const Job& j, const Layout& l) {
  const auto& tiers = j.hardware->network.tiers;
  return l.order == RankOrder::replicas_inside || tiers.empty() || tiers.front().topology != Tier::Topology::torus;
}
bool order_and_experts(const Job& j, const Layout& l) {
  return l.order == RankOrder::replicas_inside || !has_experts(j) || l.ep * l.etp == l.tp * l.cp;
}
bool recomputes_part(const Job& j, const Layout& l) {
  const std::int64_t chunks = static_cast<std::int64_t>(l.pp) * l.vpp, depth = static_cast<std::int64_t>(j.model->depth());
  return l.recomputed_layers == 0 || (l.recompute == Recompute::full && l.recomputed_layers < (depth + chunks - 1) / chunks);
}
bool host_holds(const Job& j, const Layout& l) {
  return (l.offloaded_layers == 0 && !l.optimizer_offload) || j.hardware->accelerator.host_bandwidth.value > BytesPerSecond{};
}
bool group_divides(const Job&, const Layout& l) {
  return l.zero_group == 0 || (l.zero > 0 && l.dp * l.cp % l.zero_group == 0);
}
// Of the ranks that share the states: the layout's group, or what the framework shards over.
bool group_of_blocks(const Job& j, const Layout& l) {
  return l.order == RankOrder::replicas_inside || l.zero == 0 || state_shards(j, l).dense % l.cp == 0;
}
bool group_and_experts(const Job& j, const Layout& l) {
  return l.zero_group == 0 || !has_experts(j) || l.zero_group * l.tp % (static_cast<std::int64_t>(l.ep) * l.etp) == 0;
}
bool whole_rounds(const Job& j, const Layout& l) {
  return l.pp == 1 || !j.profile->micro_batches_in_rounds || micro_batches(j, l) % l.pp == 0;
}
bool sp_available(const Job& j, const Layout& l) {
  return !l.sp || (l.tp > 1 && j.profile->sequence_parallel);
}
bool sp_divides_sequence(const Job& j, const Layout& l) {
  return !l.sp || j.sequence % ((l.cp > 1 ? 2LL : 1LL) * l.cp * l.tp) == 0;
}
bool experts_need_sp(const Job& j, const Layout& l) { return l.tp == 1 || l.sp || !has_experts(j); }
bool batch_divides(const Job& j, const Layout& l) { return j.batch % (l.dp * l.micro_batch) == 0; }
bool interleaving_divides(const Job& j, const Layout& l) {
  // Only schedules that deal micro-batches to chunks in groups; ZB-V and DualPipeV hold two chunks and take any number.
  const bool grouped = l.schedule == Schedule::interleaved || l.schedule == Schedule::zb_interleaved;
  return l.vpp == 1 || (l.pp > 1 && (!grouped || micro_batches(j, l) % l.pp == 0));
}
bool zero_available(const Job& j, const Layout& l) { return l.zero <= j.profile->max_zero; }
bool zero_needs_replicas(const Job&, const Layout& l) { return l.zero == 0 || l.dp * l.cp > 1; }
bool zero_with_pipeline(const Job& j, const Layout& l) {
  return l.zero < 2 || l.pp == 1 || j.profile->zero_with_pipeline;
}

constexpr std::array<Rule, 29> all_rules{{
    {"tp divides the attention heads", "Megatron-LM transformer_config.py:1446", LayoutAxis::tp, tp_divides_heads},
    {"tp divides the kv heads, or they divide tp", "Megatron-LM transformer_config.py:1461", LayoutAxis::tp,
     tp_and_kv_heads},
    {"tp divides the ffn width", "shoeybi2019megatron §3", LayoutAxis::tp, tp_divides_ffn},
    {"2·cp divides the sequence", "Megatron-LM arguments.py:1336", LayoutAxis::cp, cp_divides_sequence},
    {"an exchange of keys needs cp", "liu2023ring", LayoutAxis::exchange, exchange_needs_cp},
    {"cp divides the heads of a rank", "jacobs2023ulysses; DeepSpeed ulysses_sp.py:145", LayoutAxis::exchange, cp_divides_heads},
    {"cp divides the recurrent heads of a rank", "Megatron-LM transformer_config.py:1502", LayoutAxis::cp,
     cp_divides_recurrent_heads},
    {"ep divides the experts", "Megatron-LM arguments.py:1657", LayoutAxis::ep, ep_divides_experts},
    {"etp divides the expert ffn width", "Megatron-LM parallel_state.py:866", LayoutAxis::etp, etp_divides_expert_ffn},
    {"tp·cp·pp divides the GPUs", "Megatron-LM parallel_state.py:822", LayoutAxis::pp, world_divides},
    {"ep·etp·pp divides the GPUs", "Megatron-LM parallel_state.py:866", LayoutAxis::pp, expert_world_divides},
    {"the schedule has this shape", "model/pipeline/schedule.hpp", LayoutAxis::vpp, schedule_has_shape},
    {"two stages interleave under overlapped messages", "Megatron-LM arguments.py:1000", LayoutAxis::vpp, interleaving_overlaps},
    {"layers split over pp·vpp", "Megatron-LM transformer_config.py:2382", LayoutAxis::vpp, layers_split},
    {"ranks are reordered on a switched network", "hardware: the axes of a torus are the order", LayoutAxis::order,
     order_on_switches},
    {"experts' replicas are the model's when stages are inside", "Megatron-LM parallel_state.py:900", LayoutAxis::order,
     order_and_experts},
    {"sp needs tp", "korthikanti2022 §4.2", LayoutAxis::sp, sp_available},
    {"tp divides the sequence of a rank", "Megatron-LM arguments.py:1336", LayoutAxis::sp, sp_divides_sequence},
    {"experts under tp need sp", "Megatron-LM arguments.py (MoE with TP)", LayoutAxis::sp, experts_need_sp},
    {"dp·micro-batch divides the batch", "Megatron-LM num_microbatches_calculator.py:382", LayoutAxis::micro_batch,
     batch_divides},
    {"pp divides the micro-batches under interleaving", "Megatron-LM schedules.py:1160", LayoutAxis::micro_batch,
     interleaving_divides},
    {"pp divides the micro-batches where the framework wants whole rounds", "profile: rules", LayoutAxis::micro_batch,
     whole_rounds},
    {"some of a chunk's layers are recomputed in full", "Megatron-LM arguments.py: recompute-num-layers",
     LayoutAxis::recompute_layers, recomputes_part},
    {"offloading needs a link to the host", "hardware: host_bandwidth", LayoutAxis::optimizer_offload, host_holds},
    {"the framework has this ZeRO stage", "profile: rules", LayoutAxis::zero,
     [](const Job& j, const Layout& l) { return zero_available(j, l) && zero_with_pipeline(j, l); }},
    {"zero needs replicas to shard over", "rajbhandari2020zero §5", LayoutAxis::zero, zero_needs_replicas},
    {"the sharding group divides the replicas", "zhao2023fsdp §3.2; Megatron-LM parallel_state.py:922", LayoutAxis::zero_group,
     group_divides},
    {"a sharding group holds whole expert groups", "Megatron-LM parallel_state.py:922; TorchTitan parallel_dims.py",
     LayoutAxis::zero_group, group_and_experts},
    {"a sharding group is made of whole replicas when stages are inside", "model/step/data_parallel.cpp", LayoutAxis::zero_group,
     group_of_blocks},
}};

}  // namespace

std::span<const Rule> rules() { return all_rules; }

RuleSet::RuleSet(const Job& job) {
  const auto recurrent = [&] {
    return std::any_of(job.model->kinds.begin(), job.model->kinds.end(), [](const LayerKind& k) { return k.mamba || k.linear; });
  };
  for (const Lack& lack : job.profile->lacks) {
    const bool older = lack.before == 0 || (job.release > 0 && job.release < lack.before);
    if (!older || (lack.experts && !has_experts(job)) || (lack.recurrent && !recurrent())) continue;
    Missing m{.lack = &lack, .needs = LayoutAxis::tp, .uses = {}};
    if (lack.uneven || lack.uneven_ends) m.needs = LayoutAxis::vpp;
    if (lack.folded) m.needs = LayoutAxis::etp;
    for (const Lack::Range& use : lack.uses) {
      const auto at = std::find(axis_names.begin(), axis_names.end(), use.axis);
      const auto axis = static_cast<LayoutAxis>(at - axis_names.begin());
      m.uses.push_back({axis, use.least, use.most});
      m.needs = std::max(m.needs, axis);
    }
    lacks_.push_back(std::move(m));
  }
}
std::string_view RuleSet::name(std::size_t r) const {
  return r < all_rules.size() ? all_rules[r].name : lacks_[r - all_rules.size()].lack->name;
}
std::string_view RuleSet::source(std::size_t r) const {
  return r < all_rules.size() ? all_rules[r].source : lacks_[r - all_rules.size()].lack->source;
}
LayoutAxis RuleSet::needs(std::size_t r) const {
  return r < all_rules.size() ? all_rules[r].needs : lacks_[r - all_rules.size()].needs;
}
bool RuleSet::keeps(std::size_t r, const Job& job, const Layout& l) const {
  if (r < all_rules.size()) return all_rules[r].keeps(job, l);
  const Missing& m = lacks_[r - all_rules.size()];
  const std::int64_t depth = static_cast<std::int64_t>(job.model->depth()), chunks = static_cast<std::int64_t>(l.pp) * l.vpp;
  const bool even = depth % chunks == 0;
  if (m.lack->uneven && even) return true;
  if (m.lack->uneven_ends && (even || (depth + 1) % chunks == 0 || (depth + 2) % chunks == 0)) return true;
  if (m.lack->folded && l.etp == l.tp) return true;
  return std::any_of(m.uses.begin(), m.uses.end(), [&](const Range& u) {
    const std::int64_t v = get_axis(l, u.axis);
    return v < u.least || v > u.most;
  });
}

const Rule* broken_rule(const Job& job, const Layout& l) {
  for (const Rule& r : all_rules)
    if (!r.keeps(job, l)) return &r;
  return nullptr;
}

std::string explain_broken(const Rule& rule, const Job& job, const Layout& l) {
  std::string s = "rule \"" + std::string(rule.name) + "\" is broken: ";
  const auto n = [](std::int64_t v) { return std::to_string(v); };
  if (rule.keeps == layers_split) {
    const auto depth = static_cast<std::int64_t>(job.model->depth());
    if (job.profile->uneven_split)
      return s + n(depth) + " layers over pp " + n(l.pp) + " × vpp " + n(l.vpp) + "; pp·vpp may be at most " + n(depth + 2);
    std::string fits;
    for (const std::int64_t d : divisors(depth, depth)) fits += (fits.empty() ? "" : ", ") + n(d);
    return s + n(depth) + " layers over pp " + n(l.pp) + " × vpp " + n(l.vpp) + "; pp·vpp may be " + fits;
  }
  if (rule.keeps == batch_divides)
    return s + "batch " + n(job.batch) + " over dp " + n(l.dp) + " × micro-batch " + n(l.micro_batch) + "; a batch of " +
           n((job.batch + l.dp * l.micro_batch - 1) / (l.dp * l.micro_batch) * (l.dp * l.micro_batch)) + " would divide";
  if (rule.keeps == interleaving_divides && l.pp == 1)
    return s + "vpp " + n(l.vpp) + " without pipeline stages; use pp 2 or more, or vpp 1";
  if (rule.keeps == interleaving_divides)
    return s + n(micro_batches(job, l)) + " micro-batches, pp " + n(l.pp) + ", vpp " + n(l.vpp) +
           "; use vpp 1 or a multiple of " + n(l.pp) + " micro-batches";
  if (rule.needs == LayoutAxis::ep || rule.needs == LayoutAxis::etp) {
    for (const LayerKind& k : job.model->kinds)
      if (k.ffn.moe)
        return s + "ep " + n(l.ep) + ", etp " + n(l.etp) + " with " + n(k.ffn.moe->experts) + " experts of width " +
               n(k.ffn.moe->ffn) + "; write divisors of them";
  }
  if (rule.keeps == cp_divides_heads)
    for (const LayerKind& k : job.model->kinds)
      if (k.attention)
        return s + "cp " + n(l.cp) + " with " + n(k.attention->heads / l.tp) +
               " heads on a rank, which an all-to-all splits; write a cp that divides them";
  if (rule.needs == LayoutAxis::tp) {
    std::string shapes;
    for (const LayerKind& k : job.model->kinds)
      if (k.attention) {
        shapes = n(k.attention->heads) + " heads, " + n(k.attention->kv_heads) + " kv heads";
        if (k.ffn.width > 0) shapes += ", ffn " + n(k.ffn.width);
        break;
      }
    return s + "tp " + n(l.tp) + " with " + shapes + "; write a tp that divides them";
  }
  return s + describe(l) + " on " + n(job.gpus) + " GPUs, sequence " + n(job.sequence) + ", batch " + n(job.batch) + " [" +
         std::string(rule.source) + "]";
}

}  // namespace napkin
