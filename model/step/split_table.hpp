// The splits of one model over many pipelines, made once, and what their stages have in common.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "model/step/split.hpp"

namespace napkin {

// A run of ranks with the same content: `content` indexes RankSplit::contents.
struct StageRun {
  int content = 0;
  int first_rank = 0, ranks = 1;
};
struct RankSplit {
  std::vector<int> contents;   // the distinct ones, as indices into SplitTable::content()
  std::vector<StageRun> runs;  // in rank order
};

// What a stage costs depends on its content alone; the same contents come back in many splits, and are numbered.
class SplitTable {
 public:
  SplitTable(const Architecture& a, std::int64_t sequence) : model_(&a), sequence_(sequence) {}

  // split_layers() of the model; made when first asked for.
  const RankSplit& get(SplitRule rule, Schedule schedule, int pp, int vpp);
  // The same, null when it has not been made.
  [[nodiscard]] const RankSplit* find(SplitRule rule, Schedule schedule, int pp, int vpp) const;
  [[nodiscard]] const StageContent& content(int index) const { return contents_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::size_t content_count() const { return contents_.size(); }

 private:
  int number(const StageContent& content);
  const Architecture* model_;
  std::int64_t sequence_;
  std::map<std::tuple<SplitRule, Schedule, int, int>, RankSplit> splits_;
  std::map<std::pair<SplitRule, int>, std::vector<StageContent>> by_stages_;
  std::vector<StageContent> contents_;
};

}  // namespace napkin
