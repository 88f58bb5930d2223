#include "model/search/space.hpp"

#include <algorithm>
#include <initializer_list>

namespace napkin {

bool AxisLimit::allows(std::int64_t v) const {
  const auto has = [v](const std::vector<std::int64_t>& list) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  return (require.empty() || has(require)) && !has(forbid) && (at_least == 0 || v >= at_least) &&
         (at_most == 0 || v <= at_most);
}

std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t at_most) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    if (d <= at_most) low.push_back(d);
    if (d != n / d && n / d <= at_most) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

namespace {

int most_experts(const Architecture& a) {
  int most = 0;
  for (const LayerKind& k : a.kinds)
    if (k.ffn.moe) most = std::max(most, k.ffn.moe->experts);
  return most;
}

// No tensor can be cut finer than its heads (or the hidden width where there is no attention).
std::int64_t most_tp(const Architecture& a) {
  std::int64_t most = 0;
  for (const LayerKind& k : a.kinds) {
    if (k.attention) most = std::max<std::int64_t>(most, k.attention->heads);
    if (k.mamba) most = std::max<std::int64_t>(most, k.mamba->heads);
    if (k.linear) most = std::max<std::int64_t>(most, k.linear->value_heads);
  }
  return most > 0 ? most : a.hidden;
}

using Values = std::vector<std::int64_t>;

// Counts are searched in quarters unless the user says which.
constexpr std::int64_t parts = 4;

// What the user requires of an axis, as far as it lies in [1, most].
Values required(const Space& space, LayoutAxis axis, std::int64_t most) {
  Values v = space.limits[static_cast<std::size_t>(axis)].require;
  std::erase_if(v, [&](std::int64_t n) { return n < 1 || n > most; });
  return v;
}
void add_missing(Values& v, const Values& more) {
  for (const std::int64_t n : more)
    if (std::ranges::find(v, n) == v.end()) v.push_back(n);
}

std::int64_t chunk_layers(const Job& job, const Layout& l) {
  const std::int64_t chunks = static_cast<std::int64_t>(l.pp) * l.vpp;
  return (static_cast<std::int64_t>(job.model->depth()) + chunks - 1) / chunks;
}

bool switched(const Job& job) {
  const auto& tiers = job.hardware->network.tiers;
  return tiers.empty() || tiers.front().topology != Tier::Topology::torus;
}
bool host_link(const Job& job) { return job.hardware->accelerator.host_bandwidth.value > BytesPerSecond{}; }

Values exchanges(const Job& job, const Layout& l) {
  Values v{0};
  if (l.cp > 1)
    for (std::int64_t e = 1; e <= 3; ++e)
      if (e != static_cast<std::int64_t>(job.profile->context_exchange) + 1) v.push_back(e);
  return v;
}
Values schedules(const Layout& l, bool all) {
  const auto value = [](Schedule s) { return static_cast<std::int64_t>(s); };
  if (l.pp == 1) return {value(Schedule::one_f_one_b)};
  if (!all) return {value(Schedule::one_f_one_b), value(Schedule::interleaved)};
  Values v;
  for (std::int64_t s = 0; s <= value(Schedule::looped_bfs); ++s) v.push_back(s);
  return v;
}
Values chunk_counts(const Job& job, const Layout& l) {
  switch (l.schedule) {
    case Schedule::zb_v:
    case Schedule::dualpipe_v: return {2};
    case Schedule::interleaved:
    case Schedule::zb_interleaved:
    case Schedule::looped_bfs: break;
    default: return {1};
  }
  Values v;
  for (std::int64_t i = 2; i * l.pp <= static_cast<std::int64_t>(job.model->depth()) + 2; ++i) v.push_back(i);
  return v;
}
Values splits(const Job& job, const Layout& l) {
  Values v{0};
  if (!job.profile->uneven_split || l.pp == 1) return v;
  const auto depth = static_cast<std::int64_t>(job.model->depth()), stages = static_cast<std::int64_t>(l.pp) * l.vpp;
  if (depth % stages == 0 && job.model->mtp_layers == 0) return v;  // even whoever splits them
  for (std::int64_t rule = 0; rule < std::ssize(split_rule_names); ++rule)
    if (rule != static_cast<std::int64_t>(job.profile->split)) v.push_back(rule + 1);
  return v;
}
Values recomputed_counts(const Job& job, const Space& space, const Layout& l) {
  Values v{0};
  if (l.recompute != Recompute::full) return v;
  const std::int64_t layers = chunk_layers(job, l), step = (layers + parts - 1) / parts;
  for (std::int64_t n = step; n < layers; n += step) v.push_back(n);
  add_missing(v, required(space, LayoutAxis::recompute_layers, layers - 1));
  return v;
}
Values exposures(const Job& job, const Layout& l) {
  const bool tp = l.tp > 1 && job.profile->overlap.tensor_parallel.value > 0;
  const bool dp = l.dp * l.cp > 1 && (job.profile->data_parallel.overlap_gradient || job.profile->data_parallel.overlap_gather);
  Values v;
  for (std::int64_t bits = 0; bits < 4; ++bits)
    if ((tp || (bits & exposed_tensor_parallel) == 0) && (dp || (bits & exposed_data_parallel) == 0)) v.push_back(bits);
  return v;
}
Values offloads(const Job& job, const Space& space, const Layout& l) {
  Values v{0};
  if (!host_link(job)) return v;
  const std::int64_t layers = (static_cast<std::int64_t>(job.model->depth()) + l.pp - 1) / l.pp;
  for (const std::int64_t part : {4, 2, 1})
    if (const std::int64_t n = layers / part; n > v.back()) v.push_back(n);
  add_missing(v, required(space, LayoutAxis::offload, layers));
  return v;
}
// Groups that fill a node, and four, sixteen ... times as many: between them nothing changes but the share of a rank.
Values shard_groups(const Job& job, const Space& space, const Layout& l) {
  Values v{0};
  if (l.zero == 0) return v;
  const std::int64_t ranks = l.dp * l.cp;
  for (std::int64_t n = std::max<std::int64_t>(2, job.hardware->network.node_size / l.tp); n < ranks; n *= 4)
    if (ranks % n == 0) v.push_back(n);
  add_missing(v, required(space, LayoutAxis::zero_group, ranks));
  return v;
}

Values all_values(const Job& job, const Space& space, LayoutAxis axis, const Layout& p) {
  const Architecture& a = *job.model;
  const int experts = most_experts(a);
  const bool open = space.open(axis);
  switch (axis) {
    case LayoutAxis::tp: return divisors(job.gpus, most_tp(a));
    case LayoutAxis::cp: return divisors(job.gpus / p.tp, job.sequence);
    case LayoutAxis::ep: return experts > 0 ? divisors(job.gpus, experts) : Values{1};
    case LayoutAxis::etp: return experts > 0 && p.tp > 1 ? Values{1, p.tp} : Values{1};
    case LayoutAxis::exchange: return open ? exchanges(job, p) : Values{0};
    case LayoutAxis::pp:
      return divisors(job.gpus / (static_cast<std::int64_t>(p.tp) * p.cp), static_cast<std::int64_t>(a.depth()));
    case LayoutAxis::schedule: return schedules(p, open);
    case LayoutAxis::vpp: return chunk_counts(job, p);
    case LayoutAxis::split: return open ? splits(job, p) : Values{0};
    case LayoutAxis::order: return open && p.pp > 1 && p.dp > 1 && switched(job) ? Values{0, 1} : Values{0};
    case LayoutAxis::sp: return p.tp > 1 ? Values{0, 1} : Values{0};
    case LayoutAxis::micro_batch: return divisors(job.batch, space.max_micro_batch);
    case LayoutAxis::recompute: return {0, 1, 2};
    case LayoutAxis::recompute_layers: return open ? recomputed_counts(job, space, p) : Values{0};
    case LayoutAxis::overlap: return open ? exposures(job, p) : Values{0};
    case LayoutAxis::offload: return open ? offloads(job, space, p) : Values{0};
    case LayoutAxis::zero: return {0, 1, 2, 3};
    case LayoutAxis::zero_group: return open ? shard_groups(job, space, p) : Values{0};
    case LayoutAxis::optimizer_offload: return open && host_link(job) ? Values{0, 1} : Values{0};
  }
  return {};
}

// The axes, besides tp and cp, that the values of an open axis depend on.
bool depends(LayoutAxis axis, LayoutAxis on) {
  const auto one_of = [on](std::initializer_list<LayoutAxis> list) { return std::ranges::find(list, on) != list.end(); };
  switch (axis) {
    case LayoutAxis::schedule: return one_of({LayoutAxis::pp});
    case LayoutAxis::vpp:
    case LayoutAxis::split: return one_of({LayoutAxis::pp, LayoutAxis::schedule, LayoutAxis::vpp});
    case LayoutAxis::order:
    case LayoutAxis::overlap:
    case LayoutAxis::offload: return one_of({LayoutAxis::pp});
    case LayoutAxis::recompute_layers: return one_of({LayoutAxis::pp, LayoutAxis::schedule, LayoutAxis::vpp, LayoutAxis::recompute});
    case LayoutAxis::zero_group: return one_of({LayoutAxis::pp, LayoutAxis::zero});
    default: return false;
  }
}
bool varies(const Space& space, LayoutAxis axis, LayoutAxis on) {
  const bool optional = std::ranges::find(optional_axes, axis) != optional_axes.end();
  return (!optional || axis == LayoutAxis::schedule || space.open(axis)) && depends(axis, on);
}

}  // namespace

bool fixed_by_cut(const Space& space, LayoutAxis axis) {
  for (std::size_t on = 0; on < axis_count; ++on)
    if (varies(space, axis, static_cast<LayoutAxis>(on))) return false;
  return true;
}

std::vector<std::int64_t> axis_values(const Job& job, const Space& space, LayoutAxis axis, const Layout& prefix) {
  Values v = all_values(job, space, axis, prefix);
  const AxisLimit& limit = space.limits[static_cast<std::size_t>(axis)];
  std::erase_if(v, [&](std::int64_t x) { return !limit.allows(x); });
  return v;
}

std::span<const std::string_view> value_names(LayoutAxis axis) {
  static constexpr std::array<std::string_view, 4> exchange{"usual", "ring", "all-gather", "all-to-all"};
  static constexpr std::array<std::string_view, 10> schedule{"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "interleaved-zb",
                                                             "dualpipe", "dualpipe-v", "looped-bfs"};
  static constexpr std::array<std::string_view, 4> split{"usual", "even", "by-cost", "balanced"};
  static constexpr std::array<std::string_view, 2> onoff{"off", "on"};
  static constexpr std::array<std::string_view, 3> recompute{"none", "selective", "full"};
  static constexpr std::array<std::string_view, 4> overlap{"usual", "no-tp", "no-dp", "none"};
  switch (axis) {
    case LayoutAxis::exchange: return exchange;
    case LayoutAxis::schedule: return schedule;
    case LayoutAxis::split: return split;
    case LayoutAxis::order: return rank_order_names;
    case LayoutAxis::sp:
    case LayoutAxis::optimizer_offload: return onoff;
    case LayoutAxis::recompute: return recompute;
    case LayoutAxis::overlap: return overlap;
    default: return {};
  }
}

void set_axis(Layout& l, LayoutAxis axis, std::int64_t value) {
  const int v = static_cast<int>(value);
  switch (axis) {
    case LayoutAxis::tp: l.tp = v; break;
    case LayoutAxis::cp: l.cp = v; break;
    case LayoutAxis::ep: l.ep = v; break;
    case LayoutAxis::etp: l.etp = v; break;
    case LayoutAxis::exchange: l.exchange = static_cast<ExchangeChoice>(v); break;
    case LayoutAxis::pp: l.pp = v; break;
    case LayoutAxis::schedule: l.schedule = static_cast<Schedule>(v); break;
    case LayoutAxis::vpp: l.vpp = v; break;
    case LayoutAxis::split: l.split = static_cast<SplitChoice>(v); break;
    case LayoutAxis::order: l.order = static_cast<RankOrder>(v); break;
    case LayoutAxis::sp: l.sp = v != 0; break;
    case LayoutAxis::micro_batch: l.micro_batch = v; break;
    case LayoutAxis::recompute: l.recompute = static_cast<Recompute>(v); break;
    case LayoutAxis::recompute_layers: l.recomputed_layers = v; break;
    case LayoutAxis::overlap: l.exposed = static_cast<std::uint8_t>(v); break;
    case LayoutAxis::offload: l.offloaded_layers = v; break;
    case LayoutAxis::zero: l.zero = v; break;
    case LayoutAxis::zero_group: l.zero_group = value; break;
    case LayoutAxis::optimizer_offload: l.optimizer_offload = v != 0; break;
  }
}

std::int64_t get_axis(const Layout& l, LayoutAxis axis) {
  switch (axis) {
    case LayoutAxis::tp: return l.tp;
    case LayoutAxis::cp: return l.cp;
    case LayoutAxis::ep: return l.ep;
    case LayoutAxis::etp: return l.etp;
    case LayoutAxis::exchange: return static_cast<std::int64_t>(l.exchange);
    case LayoutAxis::pp: return l.pp;
    case LayoutAxis::schedule: return static_cast<std::int64_t>(l.schedule);
    case LayoutAxis::vpp: return l.vpp;
    case LayoutAxis::split: return static_cast<std::int64_t>(l.split);
    case LayoutAxis::order: return static_cast<std::int64_t>(l.order);
    case LayoutAxis::sp: return l.sp ? 1 : 0;
    case LayoutAxis::micro_batch: return l.micro_batch;
    case LayoutAxis::recompute: return static_cast<std::int64_t>(l.recompute);
    case LayoutAxis::recompute_layers: return l.recomputed_layers;
    case LayoutAxis::overlap: return l.exposed;
    case LayoutAxis::offload: return l.offloaded_layers;
    case LayoutAxis::zero: return l.zero;
    case LayoutAxis::zero_group: return l.zero_group;
    case LayoutAxis::optimizer_offload: return l.optimizer_offload ? 1 : 0;
  }
  return 0;
}

std::int64_t count_layouts(const Job& job, const Space& space, const Layout& prefix, std::size_t next) {
  if (next == axis_count) return 1;
  const auto axis = static_cast<LayoutAxis>(next);
  const Values values = axis_values(job, space, axis, prefix);
  if (values.empty()) return 0;
  bool later_depend = axis <= LayoutAxis::cp;
  for (std::size_t later = next + 1; later < axis_count && !later_depend; ++later)
    later_depend = varies(space, static_cast<LayoutAxis>(later), axis);
  Layout l = prefix;
  std::int64_t n = 0;
  for (const std::int64_t v : values) {
    set_axis(l, axis, v);
    if (axis == LayoutAxis::pp) {
      l.dp = job.gpus / (static_cast<std::int64_t>(l.tp) * l.cp * l.pp);
      if (!space.dp.allows(l.dp)) continue;
    }
    if (!later_depend) return static_cast<std::int64_t>(values.size()) * count_layouts(job, space, l, next + 1);
    n += count_layouts(job, space, l, next + 1);
  }
  return n;
}

}  // namespace napkin
