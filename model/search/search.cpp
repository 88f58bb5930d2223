#include "model/search/search.hpp"

#include <algorithm>

namespace napkin {
namespace {

// One value of each of the outer axes that a layer's cost depends on. Blocks share nothing, so threads need no lock.
struct Block {
  Layout prefix;
};
constexpr std::size_t block_axes = 4;  // tp, cp, ep, etp

struct BlockResult {
  std::vector<RankedLayout> best;
  std::optional<RankedLayout> closest;
  std::array<std::map<std::int64_t, RankedLayout>, axis_count> best_by_axis;
  std::int64_t searched = 0, feasible = 0;
  std::vector<std::int64_t> dropped = std::vector<std::int64_t>(rules().size(), 0);
};

// Whether the rules that became decidable with `axis` keep the layout; otherwise everything below it is dropped.
bool keep(const Problem& p, const Layout& l, std::size_t axis, std::vector<std::int64_t>& dropped) {
  const auto all = rules();
  for (std::size_t r = 0; r < all.size(); ++r)
    if (static_cast<std::size_t>(all[r].needs) == axis && !all[r].keeps(p.job, l)) {
      dropped[r] += count_layouts(p.job, p.space, l, axis + 1);
      return false;
    }
  return true;
}

void insert(std::vector<RankedLayout>& best, const RankedLayout& c, std::size_t keep) {
  if (best.size() == keep && !better(c, best.back())) return;
  best.insert(std::upper_bound(best.begin(), best.end(), c, better), c);
  if (best.size() > keep) best.pop_back();
}

class BlockSearch {
 public:
  BlockSearch(const Problem& p, BlockResult& r)
      : p_(p), r_(r), capacity_((1 - p.margin) * p.job.hardware->accelerator.capacity.value), evaluator_(p.job, Scope<Plain>()) {}

  // Assigns the axes from `axis` on, one after the other.
  void descend(Layout l, std::size_t axis) {
    if (axis == axis_count) return evaluate(l);
    const auto a = static_cast<LayoutAxis>(axis);
    // Values from vpp on depend only on pp and the job: keep them for the whole block where that is so.
    for (const std::int64_t v : values(a, l)) {
      set_axis(l, a, v);
      if (a == LayoutAxis::pp) {
        l.dp = p_.job.gpus / (static_cast<std::int64_t>(l.tp) * l.cp * l.pp);
        if (!p_.space.dp.allows(l.dp)) continue;
      }
      if (keep(p_, l, axis, r_.dropped)) descend(l, axis + 1);
    }
  }

 private:
  const std::vector<std::int64_t>& values(LayoutAxis a, const Layout& l) {
    auto& v = values_[static_cast<std::size_t>(a)];
    if (a <= LayoutAxis::vpp || v.empty()) v = axis_values(p_.job, p_.space, a, l);
    return v;
  }

  void evaluate(const Layout& l) {
    const RankedLayout c{l, evaluator_.evaluate(l)};
    ++r_.searched;
    if (c.cost.memory.device > capacity_) {
      if (!r_.closest || c.cost.memory.device < r_.closest->cost.memory.device) r_.closest = c;
      return;
    }
    ++r_.feasible;
    insert(r_.best, c, p_.keep);
    for (std::size_t a = 0; a < axis_count; ++a) {
      auto [it, fresh] = r_.best_by_axis[a].try_emplace(get_axis(l, static_cast<LayoutAxis>(a)), c);
      if (!fresh && better(c, it->second)) it->second = c;
    }
  }

  const Problem& p_;
  BlockResult& r_;
  Bytes capacity_;
  Evaluator<Plain> evaluator_;
  std::array<std::vector<std::int64_t>, axis_count> values_{};
};

// The blocks that the rules on the outer axes keep.
void enumerate_blocks(const Problem& p, Layout l, std::size_t axis, std::vector<Block>& blocks,
                      std::vector<std::int64_t>& dropped) {
  if (axis == block_axes) {
    blocks.push_back({l});
    return;
  }
  const auto a = static_cast<LayoutAxis>(axis);
  for (const std::int64_t v : axis_values(p.job, p.space, a, l)) {
    set_axis(l, a, v);
    if (keep(p, l, axis, dropped)) enumerate_blocks(p, l, axis + 1, blocks, dropped);
  }
}

}  // namespace

bool better(const RankedLayout& a, const RankedLayout& b) {
  if (a.cost.time != b.cost.time) return a.cost.time < b.cost.time;
  return a.layout < b.layout;
}

void run_in_order(std::size_t n, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < n; ++i) body(i);
}

Outcome search(const Problem& problem, const Executor& executor) {
  Outcome o;
  o.dropped.assign(rules().size(), 0);
  std::vector<Block> blocks;
  enumerate_blocks(problem, Layout{}, 0, blocks, o.dropped);

  std::vector<BlockResult> results(blocks.size());
  executor(blocks.size(), [&](std::size_t i) {
    BlockSearch(problem, results[i]).descend(blocks[i].prefix, block_axes);
  });

  for (const BlockResult& r : results) {
    o.searched += r.searched;
    o.feasible += r.feasible;
    for (std::size_t i = 0; i < r.dropped.size(); ++i) o.dropped[i] += r.dropped[i];
    for (const RankedLayout& c : r.best) insert(o.best, c, problem.keep);
    if (r.closest && (!o.closest || r.closest->cost.memory.device < o.closest->cost.memory.device)) o.closest = r.closest;
    for (std::size_t a = 0; a < axis_count; ++a)
      for (const auto& [v, c] : r.best_by_axis[a]) {
        auto [it, fresh] = o.best_by_axis[a].try_emplace(v, c);
        if (!fresh && better(c, it->second)) it->second = c;
      }
  }
  o.why = o.best.empty() ? Outcome::Why::infeasible : Outcome::Why::optimal;
  return o;
}

}  // namespace napkin
