// When nothing fits: what would make it fit, each suggestion verified by a search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/search/search.hpp"

namespace napkin {

struct Remedy {
  enum class Kind : std::uint8_t { more_gpus, shorter_sequence };
  Kind kind = Kind::more_gpus;
  std::int64_t value = 0;   // GPUs, or tokens
  RankedLayout layout;      // the best layout that fits then
};

// Doublings of the GPU count at the same batch, halvings of the sequence at the same batch of sequences: the first of each
// that fits, up to `doublings`.
[[nodiscard]] std::vector<Remedy> remedies(const Problem& problem, const Executor& executor, int doublings = 5);

// The largest term of a stage's bytes, and its name.
struct LargestTerm {
  std::string_view name;
  Bytes bytes{};
};
[[nodiscard]] LargestTerm largest_term(const StageMemory<Plain>& m);
[[nodiscard]] std::string_view dominant_term(const StageMemory<Plain>& m);

}  // namespace napkin
