#include "model/search/space.hpp"

#include <algorithm>

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

std::vector<std::int64_t> all_values(const Job& job, const Space& space, LayoutAxis axis, const Layout& p) {
  const Architecture& a = *job.model;
  const int experts = most_experts(a);
  switch (axis) {
    case LayoutAxis::tp: return divisors(job.gpus, most_tp(a));
    case LayoutAxis::cp: return divisors(job.gpus / p.tp, job.sequence);
    case LayoutAxis::ep: return experts > 0 ? divisors(job.gpus, experts) : std::vector<std::int64_t>{1};
    case LayoutAxis::etp:
      return experts > 0 && p.tp > 1 ? std::vector<std::int64_t>{1, p.tp} : std::vector<std::int64_t>{1};
    case LayoutAxis::pp:
      return divisors(job.gpus / (static_cast<std::int64_t>(p.tp) * p.cp), static_cast<std::int64_t>(a.depth()));
    case LayoutAxis::vpp: {
      std::vector<std::int64_t> v{1};
      if (p.pp > 1)
        for (std::int64_t i = 2; i * p.pp <= static_cast<std::int64_t>(a.depth()) + 2; ++i) v.push_back(i);
      return v;
    }
    case LayoutAxis::sp: return p.tp > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
    case LayoutAxis::micro_batch: return divisors(job.batch, space.max_micro_batch);
    case LayoutAxis::recompute: return {0, 1, 2};
    case LayoutAxis::zero: return {0, 1, 2, 3};
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> axis_values(const Job& job, const Space& space, LayoutAxis axis, const Layout& prefix) {
  std::vector<std::int64_t> v = all_values(job, space, axis, prefix);
  const AxisLimit& limit = space.limits[static_cast<std::size_t>(axis)];
  std::erase_if(v, [&](std::int64_t x) { return !limit.allows(x); });
  return v;
}

void set_axis(Layout& l, LayoutAxis axis, std::int64_t value) {
  const int v = static_cast<int>(value);
  switch (axis) {
    case LayoutAxis::tp: l.tp = v; break;
    case LayoutAxis::cp: l.cp = v; break;
    case LayoutAxis::ep: l.ep = v; break;
    case LayoutAxis::etp: l.etp = v; break;
    case LayoutAxis::pp: l.pp = v; break;
    case LayoutAxis::vpp:
      l.vpp = v;
      l.schedule = v > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
      break;
    case LayoutAxis::sp: l.sp = v != 0; break;
    case LayoutAxis::micro_batch: l.micro_batch = v; break;
    case LayoutAxis::recompute: l.recompute = static_cast<Recompute>(v); break;
    case LayoutAxis::zero: l.zero = v; break;
  }
}

std::int64_t get_axis(const Layout& l, LayoutAxis axis) {
  switch (axis) {
    case LayoutAxis::tp: return l.tp;
    case LayoutAxis::cp: return l.cp;
    case LayoutAxis::ep: return l.ep;
    case LayoutAxis::etp: return l.etp;
    case LayoutAxis::pp: return l.pp;
    case LayoutAxis::vpp: return l.vpp;
    case LayoutAxis::sp: return l.sp ? 1 : 0;
    case LayoutAxis::micro_batch: return l.micro_batch;
    case LayoutAxis::recompute: return static_cast<std::int64_t>(l.recompute);
    case LayoutAxis::zero: return l.zero;
  }
  return 0;
}

std::int64_t count_layouts(const Job& job, const Space& space, const Layout& prefix, std::size_t next) {
  if (next == axis_count) return 1;
  const auto axis = static_cast<LayoutAxis>(next);
  const auto values = axis_values(job, space, axis, prefix);
  // From vpp on, an axis' values depend on nothing that is still open.
  if (axis >= LayoutAxis::vpp)
    return static_cast<std::int64_t>(values.size()) * count_layouts(job, space, prefix, next + 1);
  std::int64_t n = 0;
  Layout l = prefix;
  for (const std::int64_t v : values) {
    set_axis(l, axis, v);
    n += count_layouts(job, space, l, next + 1);
  }
  return n;
}

}  // namespace napkin
