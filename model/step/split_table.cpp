#include "model/step/split_table.hpp"

#include <algorithm>

namespace napkin {

const RankSplit* SplitTable::find(SplitRule rule, Schedule schedule, int pp, int vpp) const {
  const auto found = splits_.find({rule, schedule, pp, vpp});
  return found == splits_.end() ? nullptr : &found->second;
}

const RankSplit& SplitTable::get(SplitRule rule, Schedule schedule, int pp, int vpp) {
  if (const RankSplit* known = find(rule, schedule, pp, vpp)) return *known;
  const Placement place = placement_of(schedule, pp, vpp);
  auto stages = by_stages_.find({rule, place.depth});
  if (stages == by_stages_.end())
    stages = by_stages_.emplace(std::pair(rule, place.depth), stage_contents(*model_, place.depth, rule, sequence_)).first;
  RankSplit split;
  for (const StageContent& rank : rank_contents(place, stages->second)) {
    const int index = number(rank);
    auto slot = std::find(split.contents.begin(), split.contents.end(), index);
    if (slot == split.contents.end()) slot = split.contents.insert(slot, index);
    split.runs.push_back({.content = static_cast<int>(slot - split.contents.begin()),
                          .first_rank = rank.first_rank,
                          .ranks = rank.ranks});
  }
  return splits_.emplace(std::tuple(rule, schedule, pp, vpp), std::move(split)).first->second;
}

int SplitTable::number(const StageContent& content) {
  const auto same = [&](const StageContent& c) {
    return c.layers == content.layers && c.embedding == content.embedding && c.head == content.head &&
           c.mtp == content.mtp && c.share == content.share;
  };
  const auto known = std::find_if(contents_.begin(), contents_.end(), same);
  const int at = static_cast<int>(known - contents_.begin());
  if (known == contents_.end()) contents_.push_back(content);
  return at;
}

}  // namespace napkin
