// The layers of a model priced under the keys met so far, with what different keys have in common priced once.
#pragma once

#include "model/step/stage_cost.hpp"

namespace napkin {

template <class K>
class LayerBook {
 public:
  // `many`: other kinds of recomputation will be asked for too, and are priced along.
  LayerBook(Scope<K> scope, const Job& job, Prices<K>& prices, bool many)
      : scope_(scope), job_(job), prices_(prices), many_(many) {}

  // Valid until a key with other (tp, cp, ep, etp) is asked for: keys come grouped by them, and the book stays small.
  const LayerCosts<K>& get(const LayerKey& key);

 private:
  // Embedding and head, which neither experts nor recomputation change.
  struct Ends {
    LayerCost<K> embedding, head;
    ScalarT<K> embedding_parameters{}, head_parameters{}, tied_head_parameters{};
    BytesT<K> hidden_state{};
  };
  const Ends& ends(const LayerKey& key);
  void price_kind(std::size_t kind, std::span<const LayerKey> keys, std::span<LayerCost<K>> costs);

  Scope<K> scope_;
  const Job& job_;
  Prices<K>& prices_;
  bool many_;
  std::array<int, 4> cut_{};                   // tp, cp, ep, etp of what the tables hold
  Memo<1, LayerCosts<K>> layers_{};
  Memo<2, std::vector<LayerCost<K>>> dense_{};  // kinds without experts, for all (ep, etp)
  Memo<1, Ends> ends_{};
};

// All but (tp, cp, ep, etp), as one word.
[[nodiscard]] std::array<std::uint64_t, 1> word_of(const LayerKey& key);

}  // namespace napkin
