// Uneven layer splits: which stages make the slowest one as fast as can be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace napkin {

// What the stages have to share, in the order of the model; forward and backward together, in any one unit.
struct Stack {
  double embedding = 0;
  std::vector<double> layers;
  double mtp = 0;  // all multi-token-prediction modules; they stay together
  int mtp_modules = 0;
  double head = 0;  // final norm, LM head and loss
};

struct StageShare {
  bool embedding = false, head = false;
  int layers = 0, mtp_modules = 0;
  double work = 0;
};

struct Split {
  std::vector<StageShare> stages;
  double slowest = 0, mean = 0;
  [[nodiscard]] double imbalance() const { return slowest / mean - 1; }
};

// The contiguous split with the least slowest stage; of those the most even one (least Σ work²), later stages taking the
// odd layer, because they hold fewer activations. Exact, by dynamic programming. With `ends_alone` a stage may hold the
// embedding, the MTP modules or the head and no layer, as Megatron's layout strings can say; without, every stage has a
// layer. InputError: more stages than there is to put on them.
[[nodiscard]] Split best_split(const Stack& stack, int stages, bool ends_alone = true);
// ⌊L/n⌋ or ⌈L/n⌉ layers a chunk, what is done without balancing. The odd ones go to the middle chunks first, then to the
// first, then to the last: the embedding and the head count as work (Megatron-Core
// account_for_embedding_in_pipeline_split). With more chunks than layers the ends hold the embedding and the head alone.
[[nodiscard]] std::vector<int> even_depths(std::int64_t layers, int chunks);
[[nodiscard]] Split even_split(const Stack& stack, int stages);

// --pipeline-model-parallel-layout of Megatron-LM: "Et*3|(t*4|)*14t*2|L". E embedding, t layer, m MTP module, L loss.
[[nodiscard]] std::string layout_string(const Split& split);
// The reverse; InputError says what is wrong. Stage work is taken from `stack`, whose layers the string must use up.
[[nodiscard]] Split parse_layout(const std::string& layout, const Stack& stack);

}  // namespace napkin
