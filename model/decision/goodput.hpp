// What failures and checkpoints leave of a layout's step time.
//   M  mean time to failure of the job: that of one accelerator over their number (kokolis2024revisiting)
//   δ  writing a checkpoint of the trained parameters: every node writes its equal share at once, and training waits
//   R  detecting and restarting, and then loading: a node reads the states of its accelerators, frozen weights and what waits
//      in host memory included
#pragma once

#include <optional>
#include <vector>

#include "model/search/search.hpp"

namespace napkin {

struct Reliability {
  Constant<Seconds> unit_mttf;              // of one accelerator
  Constant<Seconds> restart;                // detecting the failure, replacing the node, starting up; without loading
  Constant<BytesPerSecond> node_bandwidth;  // of one node to the checkpoint store, either way
};
// Where nothing better is known: the interruptions of Llama 3 405B, and assumptions.
[[nodiscard]] Reliability usual_reliability();

template <class K>
struct Goodput {
  SecondsT<K> mttf{}, write{}, load{}, restart{}, interval{};
  BytesT<K> checkpoint{};
  ScalarT<K> goodput{};
  SecondsT<K> effective{};  // step time / goodput
};
// Checkpoints at the exact interval (daly2006). InputError where failures leave no progress.
template <class K>
[[nodiscard]] Goodput<K> goodput_of(Scope<K> scope, const Job& job, const StepCost<K>& step, const Reliability& r);

struct EffectiveLayout {
  RankedLayout layout;
  Goodput<Plain> goodput;
};
// The `keep` layouts with the least effective step time, best first; `proven`: none of those left out can beat the first,
// as far as `left_out` bounds them.
struct EffectiveRanking {
  std::vector<EffectiveLayout> best;
  bool proven = false;
};
// Of `candidates`; no layout left out is faster than `left_out` (nothing: none is left out). A layout's goodput is at most
// that of one whose states load at once: what is slower than the best by more than that cannot catch up.
[[nodiscard]] EffectiveRanking rank_by_goodput(const Job& job, const std::vector<RankedLayout>& candidates,
                                               std::optional<Seconds> left_out, const Reliability& r, std::size_t keep);

}  // namespace napkin
