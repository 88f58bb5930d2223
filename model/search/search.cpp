#include "model/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace napkin {
namespace {

// Layouts with the same values of the outer axes are searched together: they share what their layers cost. Blocks share
// nothing that changes, so threads need no lock.
constexpr std::size_t block_axes = 2;  // tp, cp

// The axes that a search walks: those left alone have one value, what the framework does.
std::vector<std::size_t> axes_walked(const Space& space) {
  std::vector<std::size_t> walked;
  for (std::size_t a = 0; a < axis_count; ++a) {
    const auto axis = static_cast<LayoutAxis>(a);
    const bool optional = std::ranges::find(optional_axes, axis) != optional_axes.end();
    if (!optional || axis == LayoutAxis::schedule || space.open(axis)) walked.push_back(a);
  }
  return walked;
}

// The rules that are decidable once an axis is known, by axis; what a rule needs of one that is not walked is known before.
using RulesByAxis = std::array<std::vector<std::size_t>, axis_count>;
RulesByAxis rules_by_axis(const RuleSet& set, const std::vector<std::size_t>& walked) {
  RulesByAxis by;
  for (std::size_t r = 0; r < set.size(); ++r)
    by[*(std::ranges::upper_bound(walked, static_cast<std::size_t>(set.needs(r))) - 1)].push_back(r);
  return by;
}

// What the blocks of a search have in common.
struct Common {
  const Problem& problem;
  std::vector<std::size_t> walked;     // axes, in their order
  RuleSet set;
  RulesByAxis rules;
  std::array<bool, axis_count> fixed;  // values depend on tp and cp alone
  SplitTable splits;
  Bytes capacity;  // less the margin
};

// The best layouts, in no order until they are taken: what is behind the best `keep` is cut off from time to time.
class Best {
 public:
  explicit Best(std::size_t keep) : keep_(keep) {}
  [[nodiscard]] bool wants(const RankedLayout& c) const { return !full_ || better(c, worst_); }
  void add(const RankedLayout& c) {
    kept_.push_back(c);
    if (kept_.size() >= 2 * keep_ + 32) cut();
  }
  std::vector<RankedLayout> take() {
    cut();
    return std::move(kept_);
  }

 private:
  void cut() {
    if (kept_.size() < keep_ || keep_ == 0) {
      if (keep_ == 0) kept_.clear();
      return;
    }
    const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(keep_ - 1);
    std::nth_element(kept_.begin(), last, kept_.end(), better);
    worst_ = *last;
    kept_.resize(keep_);
    full_ = true;
  }
  std::size_t keep_;
  std::vector<RankedLayout> kept_;
  RankedLayout worst_{};
  bool full_ = false;
};

struct BlockResult {
  std::vector<RankedLayout> best;
  Front front;
  std::optional<RankedLayout> closest;
  std::array<std::vector<std::pair<std::int64_t, RankedLayout>>, axis_count> best_by_axis;
  std::int64_t searched = 0, feasible = 0;
  std::vector<std::int64_t> dropped;  // by the set's rules
};

class BlockSearch {
 public:
  BlockSearch(const Common& common, BlockResult& r)
      : common_(common), p_(common.problem), r_(r), best_(p_.keep), evaluator_(p_.job, Scope<Plain>(), &common.splits) {
    r_.dropped.assign(common.set.size(), 0);
  }

  void run(const Layout& prefix) {
    for (std::size_t a = 0; a < block_axes; ++a) enter(a, get_axis(prefix, static_cast<LayoutAxis>(a)));
    descend(prefix, block_axes);
    r_.best = best_.take();
  }

 private:
  // Assigns the axes that are walked from the `step`th on, one after the other.
  void descend(Layout l, std::size_t step) {
    if (step == common_.walked.size()) return evaluate(l);
    const std::size_t axis = common_.walked[step];
    const auto a = static_cast<LayoutAxis>(axis);
    auto& values = values_[axis];
    if (!common_.fixed[axis] || values.empty()) values = axis_values(p_.job, p_.space, a, l);
    for (std::size_t i = 0; i < values.size(); ++i) {
      set_axis(l, a, values[i]);
      if (a == LayoutAxis::pp) {
        l.dp = p_.job.gpus / (static_cast<std::int64_t>(l.tp) * l.cp * l.pp);
        if (!p_.space.dp.allows(l.dp)) continue;
      }
      if (!keep(l, axis)) continue;
      enter(axis, values[i]);
      descend(l, step + 1);
    }
  }
  // Whether the rules that became decidable with `axis` keep the layout; otherwise everything below it is dropped.
  bool keep(const Layout& l, std::size_t axis) {
    for (const std::size_t r : common_.rules[axis])
      if (!common_.set.keeps(r, p_.job, l)) {
        r_.dropped[r] += below(l, axis + 1);
        return false;
      }
    return true;
  }
  // Layouts below `l`: within a block they depend on these axes alone (those still open are as they were).
  std::int64_t below(const Layout& l, std::size_t next) {
    const auto word = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    return below_.get({next << 56 | word(static_cast<int>(l.schedule)) << 48 | word(l.zero) << 44 |
                       word(static_cast<int>(l.recompute)) << 40 | word(l.vpp) << 20 | word(l.pp)},
                      [&] { return count_layouts(p_.job, p_.space, l, next); });
  }
  // From now on layouts have `value` on `axis`.
  void enter(std::size_t axis, std::int64_t value) {
    auto& of_axis = r_.best_by_axis[axis];
    // Values come in the same order again and again.
    const std::size_t next = slot_[axis] + 1;
    const auto found = next < of_axis.size() && of_axis[next].first == value
                           ? of_axis.begin() + static_cast<std::ptrdiff_t>(next)
                           : std::find_if(of_axis.begin(), of_axis.end(), [&](const auto& e) { return e.first == value; });
    slot_[axis] = static_cast<std::size_t>(found - of_axis.begin());
    if (found == of_axis.end()) {
      of_axis.emplace_back(value, RankedLayout{});
      of_axis.back().second.cost.time = never;
    }
    best_time_[axis] = of_axis[slot_[axis]].second.cost.time;
  }

  void evaluate(const Layout& l) {
    const RankedLayout c{l, evaluator_.evaluate(l)};
    ++r_.searched;
    if (c.cost.memory.device > common_.capacity) {
      if (!r_.closest || c.cost.memory.device < r_.closest->cost.memory.device) r_.closest = c;
      return;
    }
    ++r_.feasible;
    if (best_.wants(c)) best_.add(c);
    if (p_.front) r_.front.add(c);
    for (const std::size_t a : common_.walked) {
      if (c.cost.time > best_time_[a]) continue;
      RankedLayout& of_value = r_.best_by_axis[a][slot_[a]].second;
      if (!better(c, of_value)) continue;
      of_value = c;
      best_time_[a] = c.cost.time;
    }
  }

  static constexpr Seconds never = Seconds::si(std::numeric_limits<double>::infinity());
  const Common& common_;
  const Problem& p_;
  BlockResult& r_;
  Best best_;
  Evaluator<Plain> evaluator_;
  std::array<std::vector<std::int64_t>, axis_count> values_{};
  Memo<1, std::int64_t> below_{};
  std::array<std::size_t, axis_count> slot_{};    // in best_by_axis, of the value that layouts now have
  std::array<Seconds, axis_count> best_time_{};   // of that slot
};

// The blocks that the rules on the outer axes keep.
void enumerate_blocks(const Common& c, Layout l, std::size_t axis, std::vector<Layout>& blocks,
                      std::vector<std::int64_t>& dropped) {
  if (axis == block_axes) {
    blocks.push_back(l);
    return;
  }
  const auto a = static_cast<LayoutAxis>(axis);
  for (const std::int64_t v : axis_values(c.problem.job, c.problem.space, a, l)) {
    set_axis(l, a, v);
    const auto broken = std::find_if(c.rules[axis].begin(), c.rules[axis].end(),
                                     [&](std::size_t r) { return !c.set.keeps(r, c.problem.job, l); });
    if (broken == c.rules[axis].end()) {
      enumerate_blocks(c, l, axis + 1, blocks, dropped);
    } else {
      dropped[*broken] += count_layouts(c.problem.job, c.problem.space, l, axis + 1);
    }
  }
}

// Every split that a layout of the space may have.
void make_splits(Common& c) {
  const Problem& p = c.problem;
  Layout l;
  const auto kept = [&](LayoutAxis axis) {
    const auto& of_axis = c.rules[static_cast<std::size_t>(axis)];
    return std::all_of(of_axis.begin(), of_axis.end(), [&](std::size_t r) { return c.set.keeps(r, p.job, l); });
  };
  const auto each = [&](LayoutAxis axis, auto&& body) {
    for (const std::int64_t v : axis_values(p.job, p.space, axis, l)) {
      set_axis(l, axis, v);
      if (kept(axis)) body();
    }
  };
  const auto add = [&] { c.splits.get(split_rule(p.job, l), l.schedule, l.pp, l.vpp); };
  for (const std::int64_t pp : axis_values(p.job, p.space, LayoutAxis::pp, l)) {
    set_axis(l, LayoutAxis::pp, pp);
    each(LayoutAxis::schedule, [&] { each(LayoutAxis::vpp, [&] { each(LayoutAxis::split, add); }); });
  }
}

}  // namespace

bool better(const RankedLayout& a, const RankedLayout& b) {
  if (a.cost.time != b.cost.time) return a.cost.time < b.cost.time;
  return a.layout < b.layout;
}

void Front::add(const RankedLayout& c) {
  // Fastest first, bytes strictly falling: the last of those no slower holds the fewest bytes of them.
  const auto after = std::ranges::upper_bound(front_, c, better);
  if (after != front_.begin() && (after - 1)->cost.memory.device <= c.cost.memory.device) return;
  // What it beats: those of its own time before it, which hold more, and the slower ones that hold no less.
  auto begin = after;
  while (begin != front_.begin() && (begin - 1)->cost.time == c.cost.time) --begin;
  const auto end = std::find_if(after, front_.end(), [&](const RankedLayout& o) { return o.cost.memory.device < c.cost.memory.device; });
  const auto at = front_.erase(begin, end);
  front_.insert(at, c);
}

void run_in_order(std::size_t n, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < n; ++i) body(i);
}

Outcome search(const Problem& problem, const Executor& executor) {
  const Job& job = problem.job;
  Common common{.problem = problem,
                .walked = axes_walked(problem.space),
                .set = RuleSet(job),
                .rules = {},
                .fixed = {},
                .splits = SplitTable(*job.model, job.sequence),
                .capacity = (1 - problem.margin) * job.hardware->accelerator.capacity.value};
  common.rules = rules_by_axis(common.set, common.walked);
  for (std::size_t a = 0; a < axis_count; ++a) common.fixed[a] = fixed_by_cut(problem.space, static_cast<LayoutAxis>(a));
  Outcome o;
  o.dropped.assign(common.set.size(), 0);
  std::vector<Layout> blocks;
  enumerate_blocks(common, Layout{}, 0, blocks, o.dropped);
  make_splits(common);

  std::vector<BlockResult> results(blocks.size());
  executor(blocks.size(), [&](std::size_t i) { BlockSearch(common, results[i]).run(blocks[i]); });

  Front front;
  for (BlockResult& r : results) {
    for (const RankedLayout& c : r.front.layouts()) front.add(c);
    o.searched += r.searched;
    o.feasible += r.feasible;
    for (std::size_t i = 0; i < r.dropped.size(); ++i) o.dropped[i] += r.dropped[i];
    o.best.insert(o.best.end(), r.best.begin(), r.best.end());
    if (r.closest && (!o.closest || r.closest->cost.memory.device < o.closest->cost.memory.device)) o.closest = r.closest;
    for (std::size_t a = 0; a < axis_count; ++a)
      for (const auto& [v, c] : r.best_by_axis[a]) {
        if (!std::isfinite(c.cost.time.si())) continue;
        auto [it, fresh] = o.best_by_axis[a].try_emplace(v, c);
        if (!fresh && better(c, it->second)) it->second = c;
      }
    r = {};
  }
  o.front = front.layouts();
  const auto kept = std::min(problem.keep, o.best.size());
  std::partial_sort(o.best.begin(), o.best.begin() + static_cast<std::ptrdiff_t>(kept), o.best.end(), better);
  o.best.resize(kept);
  o.why = o.feasible == 0 ? Outcome::Why::infeasible : Outcome::Why::optimal;
  return o;
}

}  // namespace napkin
