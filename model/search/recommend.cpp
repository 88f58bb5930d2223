#include "model/search/recommend.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/text.hpp"

namespace napkin {

std::vector<std::string> parts_of(const Layout& l) {
  std::vector<std::string> parts;
  const auto part = [&](bool used, const char* name) {
    if (used) parts.emplace_back(name);
  };
  part(l.tp > 1, "tp");
  part(l.sp, "sp");
  part(l.cp > 1, "cp");
  part(l.ep > 1, "ep");
  part(l.etp > 1, "etp");
  part(l.pp > 1, "pp");
  part(l.vpp > 1, "interleaving");
  part(l.schedule != Schedule::one_f_one_b && l.schedule != Schedule::interleaved && l.pp > 1, "special schedule");
  part(l.zero >= 2, "sharded gradients");
  part(l.zero >= 3, "sharded parameters");
  part(l.zero_group > 0, "sharding groups");
  part(l.recompute != Recompute::none, "recomputation");
  part(l.recomputed_layers > 0, "a count of recomputed layers");
  part(l.offloaded_layers > 0, "activation offload");
  part(l.optimizer_offload, "optimizer offload");
  part(l.exchange != ExchangeChoice::usual, "special exchange of keys");
  part(l.split != SplitChoice::usual, "special split");
  part(l.order != RankOrder::replicas_inside, "special rank order");
  return parts;
}

namespace {

// Two significant figures: "0.32", "1".
std::string short_number(double v) { return format(Dim{}, std::round(100 * v) / 100); }

std::string joined(const std::vector<std::string>& words) {
  std::string s;
  for (std::size_t i = 0; i < words.size(); ++i) s += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return s;
}

std::string reason_for(const RankedLayout& taken, const RankedLayout& fastest, double share) {
  const auto mine = parts_of(taken.layout), its = parts_of(fastest.layout);
  std::vector<std::string> without;
  for (const std::string& p : its)
    if (std::ranges::find(mine, p) == mine.end()) without.push_back(p);
  const double slower = 100 * (double(taken.cost.time / fastest.cost.time) - 1);
  std::string s = short_number(slower) + " % slower than the fastest, less than a prediction can tell apart (" +
                  short_number(100 * share) + " %)";
  const auto group = [](const Layout& l) { return static_cast<long long>(l.tp) * l.cp * l.pp; };
  if (mine.size() < its.size()) {
    s += ", and simpler: ";
    s += without.empty() ? "fewer kinds of parallelism" : "no " + joined(without);
  } else if (group(taken.layout) < group(fastest.layout)) {
    s += ", with model-parallel groups of " + std::to_string(group(taken.layout)) + " instead of " +
         std::to_string(group(fastest.layout));
  } else {
    s += ", with more memory left";
  }
  return s;
}

}  // namespace

Recommendation recommend(std::span<const RankedLayout> ranked, double share) {
  Recommendation r;
  const Seconds limit = (1 + share) * ranked.front().cost.time;
  const auto effort = [&](std::size_t i) {
    const RankedLayout& c = ranked[i];
    return std::tuple(parts_of(c.layout).size(), static_cast<long long>(c.layout.tp) * c.layout.cp * c.layout.pp,
                      c.cost.memory.device.si(), c.cost.time.si());
  };
  for (std::size_t i = 0; i < ranked.size() && ranked[i].cost.time <= limit; ++i) {
    r.group.push_back(i);
    if (effort(i) < effort(r.index)) r.index = i;
  }
  if (r.index != 0) r.reason = reason_for(ranked[r.index], ranked.front(), share);
  return r;
}

}  // namespace napkin
