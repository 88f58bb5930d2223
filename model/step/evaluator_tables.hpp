// Keys and entries of the tables that an Evaluator keeps: of evaluator.cpp alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/step/compose.hpp"
#include "model/step/layer_book.hpp"
#include "model/step/shelf.hpp"

namespace napkin {

inline std::uint64_t bits(std::int64_t v) { return static_cast<std::uint64_t>(v); }

// Keys of the tables, which hold for one cut of the layers (tp, cp, ep, etp).
inline std::array<std::uint64_t, 2> cut_of(const Layout& l) {
  return {bits(l.tp) << 32 | bits(l.cp), bits(l.ep) << 32 | bits(l.etp)};
}
inline std::array<std::uint64_t, 2> layers_of(const LayerKey& key, const Layout& l) {
  return {word_of(key)[0], bits(l.recomputed_layers) << 32 | bits(l.recomputed_layers > 0 ? l.vpp : 0)};
}
inline std::array<std::uint64_t, 3> sharding_of(const Layout& l) {
  return {bits(l.dp) << 4 | (l.optimizer_offload ? 8U : 0U) | (l.order == RankOrder::replicas_inside ? 0U : 4U) | bits(l.zero),
          bits(l.zero_group), l.order == RankOrder::replicas_inside ? 0U : bits(l.pp)};
}
inline std::array<std::uint64_t, 2> message_of(const Layout& l) {
  return {bits(l.dp) << 2 | (l.order == RankOrder::replicas_inside ? 0U : 2U) | (l.sp ? 1U : 0U), bits(l.micro_batch)};
}

// A value for each content of the splits, made when needed.
template <class Value>
struct ByContent {
  std::vector<const Value*> of;
  template <class Make>
  const Value* get(int content, Shelf<Value>& storage, Make make) {
    const auto i = static_cast<std::size_t>(content);
    if (i >= of.size()) of.resize(std::max<std::size_t>({i + 1, 2 * of.size(), 16}), nullptr);
    if (of[i] == nullptr) of[i] = &storage.emplace_back(make());
    return of[i];
  }
};

// Layers of one key, of which some may keep everything instead, and the stages made of them.
template <class K>
struct PricedLayers {
  const LayerCosts<K>* costs;
  const LayerCosts<K>* kept;
  ByContent<StageCost<K>> stages{};
};

// What one sharding costs each content.
template <class K>
struct Sharding {
  std::array<std::uint64_t, 3> key{};
  ByContent<DataParallelCost<K>>* costs = nullptr;
};

}  // namespace napkin
