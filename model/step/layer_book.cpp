#include "model/step/layer_book.hpp"

namespace napkin {

std::array<std::uint64_t, 1> word_of(const LayerKey& k) {
  return {static_cast<std::uint64_t>(k.micro_batch) << 32 | static_cast<std::uint64_t>(k.modules) << 16 |
          static_cast<std::uint64_t>(k.exchange) << 8 | static_cast<std::uint64_t>(k.recompute) << 3 |
          (k.tp_exposed ? 4U : 0U) | (k.interleaved ? 2U : 0U) | (k.sp ? 1U : 0U)};
}

template <class K>
const LayerCosts<K>& LayerBook<K>::get(const LayerKey& key) {
  if (const std::array cut{key.tp, key.cp, key.ep, key.etp}; cut != cut_) {
    if (cut[0] != cut_[0] || cut[1] != cut_[1]) {
      dense_.clear();
      ends_.clear();
    }
    layers_.clear();
    cut_ = cut;
  }
  if (const LayerCosts<K>* known = layers_.find(word_of(key))) return *known;

  // 1. The kinds of recomputation that are priced together.
  std::vector<LayerKey> keys{key};
  const std::uint8_t usual = job_.profile->recompute.selective;
  if (many_ && (key.recompute != Recompute::selective || key.modules == usual)) {
    keys.clear();
    for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
      keys.push_back(key);
      keys.back().recompute = r;
      keys.back().modules = r == Recompute::selective ? usual : std::uint8_t{0};
    }
  }

  // 2. Every kind of layer, and the ends.
  const Architecture& a = *job_.model;
  std::vector<LayerCosts<K>> costs(keys.size());
  std::vector<LayerCost<K>> of_kind(keys.size());
  for (LayerCosts<K>& c : costs) {
    c.layers.reserve(a.kinds.size());
    c.parameters.reserve(a.kinds.size());
  }
  for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
    price_kind(kind, keys, of_kind);
    const auto parameters = layer_rank_parameters(scope_, a, a.kinds[kind], key.tp, key.ep, key.etp);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      costs[i].layers.push_back(of_kind[i]);
      costs[i].parameters.push_back(parameters);
    }
  }
  const Ends& e = ends(key);
  const LayerCosts<K>* asked = nullptr;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    LayerCosts<K>& c = costs[i];
    c.embedding = e.embedding;
    c.head = e.head;
    c.embedding_parameters = e.embedding_parameters;
    c.head_parameters = e.head_parameters;
    c.tied_head_parameters = e.tied_head_parameters;
    c.hidden_state = e.hidden_state;
    const LayerCosts<K>& kept = layers_.get(word_of(keys[i]), [&] { return std::move(c); });
    if (keys[i] == key) asked = &kept;
  }
  return *asked;
}

template <class K>
void LayerBook<K>::price_kind(std::size_t kind, std::span<const LayerKey> keys, std::span<LayerCost<K>> costs) {
  const LayerKind& k = job_.model->kinds[kind];
  if (k.ffn.moe) return layer_cost(scope_, job_, keys, k, prices_, costs);
  // Neither expert parallelism nor what hides its exchange changes a layer without experts.
  std::vector<LayerKey> dense(keys.begin(), keys.end());
  for (LayerKey& d : dense) {
    d.ep = d.etp = 1;
    d.interleaved = false;
  }
  const auto& known = dense_.get({word_of(dense.front())[0], kind * 4 + dense.size()}, [&] {
    std::vector<LayerCost<K>> priced(dense.size());
    layer_cost(scope_, job_, dense, k, prices_, std::span(priced));
    return priced;
  });
  std::ranges::copy(known, costs.begin());
}

template <class K>
const typename LayerBook<K>::Ends& LayerBook<K>::ends(const LayerKey& of) {
  LayerKey key = of;
  key.ep = key.etp = 1;
  key.interleaved = false;
  key.recompute = Recompute::none;
  key.modules = 0;
  return ends_.get(word_of(key), [&] {
    const Architecture& a = *job_.model;
    const Profile& p = *job_.profile;
    const std::int64_t vocab = padded_vocab(a, p, key.tp);
    Ends e;
    e.embedding = embedding_cost(scope_, job_, key, prices_);
    e.head = head_cost(scope_, job_, key, prices_);
    e.embedding_parameters = embedding_rank_parameters(scope_, a, vocab, key.tp, p.vocab_parallel);
    e.head_parameters = head_rank_parameters(scope_, a, vocab, key.tp, p.vocab_parallel, false);
    e.tied_head_parameters = head_rank_parameters(scope_, a, vocab, key.tp, p.vocab_parallel, true);
    e.hidden_state = let("hidden_state", scope_.input("b", key.micro_batch, "layout: micro-batch") *
                                             scope_.input("s", static_cast<double>(job_.sequence), "job: sequence length") /
                                             scope_.input("cp", key.cp, "layout") *
                                             scope_.input("h", static_cast<double>(a.hidden), a.name) *
                                             scope_.input("e", Bytes::si(job_.precision.base_bytes), "precision"));
    return e;
  });
}

template <class K>
LayerCosts<K> layer_costs(Scope<K> scope, const Job& job, const LayerKey& key) {
  Prices<K> prices(scope, job);
  return LayerBook<K>(scope, job, prices, false).get(key);
}

template class LayerBook<Plain>;
template class LayerBook<Traced>;
template LayerCosts<Plain> layer_costs(Scope<Plain>, const Job&, const LayerKey&);
template LayerCosts<Traced> layer_costs(Scope<Traced>, const Job&, const LayerKey&);

}  // namespace napkin
