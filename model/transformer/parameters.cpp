#include "model/transformer/parameters.hpp"

#include <cmath>

#include "model/input_error.hpp"

namespace napkin {
namespace {

// A sum whose first term is not "0 +".
template <class K>
class Sum {
  ScalarT<K> value_{};
  bool empty_ = true;

 public:
  void add(ScalarT<K> term) {
    value_ = empty_ ? term : value_ + term;
    empty_ = false;
  }
  template <class F>
  void add_if(bool present, F term) {
    if (present) add(term());
  }
  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] ScalarT<K> value() const { return value_; }
};

// Vectors in one norm of model width.
double norm_vectors(Norm n) {
  switch (n) {
    case Norm::rmsnorm:
    case Norm::layernorm_no_bias: return 1;
    case Norm::layernorm: return 2;
    case Norm::none_parametric: return 0;
  }
  return 0;
}

// The layer's counts with h in scope.
template <class K>
struct LayerCounter {
  using S = ScalarT<K>;
  const Scope<K>& s;
  const Architecture& a;
  S h;

  LayerCounter(const Scope<K>& scope, const Architecture& architecture)
      : s(scope), a(architecture), h(scope.input("h", double(architecture.hidden))) {}

  S num(std::string_view name, double v) const { return s.input(name, v); }

  // vaswani2017, shazeer2019, ainslie2023gqa: W_Q, W_K, W_V, W_O of heads·d, kv·d, kv·d_v and heads·d_v columns.
  S grouped_query(const Attention& t) const {
    const S heads = num("heads", t.heads), kv = num("kv", t.kv_heads), d = num("d", t.head_dim);
    const S dv = t.v_head_dim == t.head_dim ? d : num("d_v", t.v_head_dim);
    Sum<K> n;
    n.add(h * heads * d);
    n.add(h * kv * d);
    n.add_if(!t.keys_are_values, [&] { return h * kv * dv; });
    n.add(heads * dv * h);
    n.add_if(t.output_gate, [&] { return h * heads * d; });
    n.add_if(t.bias_qkv, [&] { return heads * d + kv * d + kv * dv; });
    n.add_if(t.bias_out, [&] { return h; });
    const double tensors = t.qk_norm_bias ? 2 : 1;
    n.add_if(t.qk_norm == QkNorm::per_head, [&] { return 2 * tensors * d; });
    n.add_if(t.qk_norm == QkNorm::full_width, [&] { return tensors * (heads + kv) * d; });
    n.add_if(t.sinks, [&] { return heads; });
    return n.value();
  }

  // deepseek-ai2024v2 §2.1: queries and key-values through low-rank latents, each with a norm; one rope key for all.
  S latent(const Attention& t) const {
    const S heads = num("heads", t.heads), d = num("d_nope", t.head_dim), rope = num("d_rope", t.rope_head_dim);
    const S dv = num("d_v", t.v_head_dim), c_kv = num("c_kv", t.kv_lora_rank);
    Sum<K> n;
    if (t.q_lora_rank > 0) {
      const S c_q = num("c_q", t.q_lora_rank);
      n.add(h * c_q + c_q + c_q * heads * (d + rope));
      n.add_if(t.bias_qkv, [&] { return c_q; });
    } else {
      n.add(h * heads * (d + rope));
    }
    n.add(h * (c_kv + rope) + c_kv + c_kv * heads * (d + dv));
    n.add_if(t.bias_qkv, [&] { return c_kv + rope; });
    n.add(heads * dv * h);
    n.add_if(t.bias_out, [&] { return h; });
    return n.value();
  }

  // deepseek-ai2025v32 §2.1: index queries (from the query latent where there is one), one key, its norm, head weights.
  S indexer(const Attention& t) const {
    const S heads = num("heads_idx", t.indexer_heads), d = num("d_idx", t.indexer_head_dim);
    const S from = t.q_lora_rank > 0 ? num("c_q", t.q_lora_rank) : h;
    return from * heads * d + h * d + 2 * d + h * heads;
  }

  // dao2024mamba2 §8: in-projection to z, x, B, C, Δ; depthwise convolution; A, D, Δ bias; gated norm; out-projection.
  S mamba2(const Mamba& m) const {
    const S inner = num("inner", m.inner), heads = num("heads_ssm", m.heads), g = num("groups", m.groups);
    const S state = num("state", m.state), conv = num("conv", m.conv);
    const S channels = inner + 2 * g * state;
    Sum<K> n;
    n.add(h * (inner + channels + heads));
    n.add(channels * conv);
    n.add_if(m.conv_bias, [&] { return channels; });
    n.add(3 * heads + inner);
    n.add(inner * h);
    n.add_if(m.proj_bias, [&] { return inner + channels + heads + h; });
    return n.value();
  }

  // gu2023mamba §3: as above with Δ through a low rank, A per channel and state.
  S mamba1(const Mamba& m) const {
    const S inner = num("inner", m.inner), state = num("state", m.state), conv = num("conv", m.conv);
    const S rank = num("dt_rank", m.dt_rank);
    Sum<K> n;
    n.add(h * 2 * inner);
    n.add(inner * conv);
    n.add_if(m.conv_bias, [&] { return inner; });
    n.add(inner * (rank + 2 * state) + rank * inner + inner);
    n.add(inner * state + inner);
    n.add(inner * h);
    n.add_if(m.proj_bias, [&] { return 2 * inner + h; });
    n.add_if(m.inner_norms, [&] { return rank + 2 * state; });
    return n.value();
  }

  // yang2024gated: q, k, v and the output gate z; β and α per value head; convolution over q, k, v; A, Δ bias; norm.
  S gated_delta(const LinearAttention& l) const {
    const S kh = num("heads_k", l.key_heads), kd = num("d_k", l.key_head_dim);
    const S vh = num("heads_v", l.value_heads), vd = num("d_v", l.value_head_dim), conv = num("conv", l.conv);
    return h * (2 * kh * kd + 2 * vh * vd) + 2 * h * vh + (2 * kh * kd + vh * vd) * conv + 2 * vh + vd + vh * vd * h;
  }

  // qin2024lightning: q, k, v, output gate, norm over the heads, out-projection.
  S lightning(const LinearAttention& l) const {
    const S heads = num("heads_v", l.value_heads), d = num("d_v", l.value_head_dim);
    return 3 * h * heads * d + h * heads * d + heads * d + heads * d * h;
  }

  S mixer(const LayerKind& k) const {
    Sum<K> n;
    if (k.attention) {
      n.add(k.attention->is_mla ? let("mla", latent(*k.attention), "deepseek-ai2024v2")
                                : let("attention", grouped_query(*k.attention), "vaswani2017"));
      if (k.attention->indexer_heads > 0) n.add(let("indexer", indexer(*k.attention), "deepseek-ai2025v32"));
    }
    if (k.mamba) {
      n.add(k.mamba->heads > 0 ? let("mamba2", mamba2(*k.mamba), "dao2024mamba2")
                               : let("mamba", mamba1(*k.mamba), "gu2023mamba"));
    }
    if (k.linear) {
      n.add(k.linear->delta_rule ? let("gated_delta", gated_delta(*k.linear), "yang2024gated")
                                 : let("lightning", lightning(*k.linear), "qin2024lightning"));
    }
    return n.value();
  }

  // Matrices of a feed-forward: up and down, and a gate (shazeer2020).
  static double matrices(const Ffn& f) { return f.gated ? 3 : 2; }

  S dense(const Ffn& f) const {
    const S w = num("f", f.width);
    Sum<K> n;
    n.add(matrices(f) * h * w);
    n.add_if(f.bias, [&] { return (matrices(f) - 1) * w + h; });
    return n.value();
  }

  // One expert reads and writes `latent` columns, the model width where there is none.
  S expert(const Ffn& f, const Moe& m) const {
    const S width = m.latent > 0 ? num("latent", m.latent) : h, w = num("f_expert", m.ffn);
    Sum<K> n;
    n.add(matrices(f) * width * w);
    n.add_if(m.expert_bias, [&] { return (matrices(f) - 1) * w + width; });
    return n.value();
  }

  S shared(const Ffn& f, const Moe& m) const {
    Sum<K> n;
    n.add(matrices(f) * h * num("f_shared", m.shared_ffn));
    n.add_if(m.shared_gate, [&] { return h; });
    return n.value();
  }

  S router(const Moe& m) const {
    const S experts = num("experts", m.experts);
    return m.router_bias ? h * experts + experts : h * experts;
  }
};

// One layer, blocks that it does not have left at zero.
template <class K>
struct LayerCount {
  ScalarT<K> mixer, dense_ffn, routed, routed_active, shared, router, norms, other;
};

template <class K>
LayerCount<K> count_layer(const Scope<K>& s, const Architecture& a, const LayerKind& kind) {
  const LayerCounter<K> c(s, a);
  LayerCount<K> n;
  if (kind.attention || kind.mamba || kind.linear) n.mixer = c.mixer(kind);
  if (kind.ffn.width > 0) n.dense_ffn = let("ffn", c.dense(kind.ffn), "shazeer2020");
  if (kind.ffn.moe) {
    const Moe& m = *kind.ffn.moe;
    const auto expert = let("expert", c.expert(kind.ffn, m), "shazeer2020");
    n.routed = c.num("experts", m.experts) * expert;
    n.routed_active = c.num("top_k", m.top_k) * expert;
    if (m.shared_ffn > 0) n.shared = c.shared(kind.ffn, m);
    n.router = c.router(m);
    if (m.latent > 0) n.other = 2 * c.h * c.num("latent", m.latent);  // into and out of the experts' width
  }
  const double vectors = kind.norms * norm_vectors(a.norm);
  if (vectors > 0) n.norms = vectors * c.h;
  if (kind.extra_parameters > 0) {
    const auto extra = s.input("extra", double(kind.extra_parameters));
    n.other = n.other.si() > 0 ? n.other + extra : extra;
  }
  return n;
}

// 2⁵³: the largest count a double holds exactly.
constexpr double exact_limit = 9007199254740992.0;

std::int64_t integer(Scalar q) {
  if (!(q.si() < exact_limit)) {
    throw InputError("model: more than 9e15 parameters; check layers, hidden, ffn, experts and vocab");
  }
  return std::int64_t(q.si());
}

template <class K>
void add_layers(Sum<K>& block, const ScalarT<K>& layers, const ScalarT<K>& per_layer) {
  if (per_layer.si() > 0) block.add(layers * per_layer);
}

}  // namespace

LayerParameters layer_parameters(const Architecture& a, const LayerKind& kind) {
  const auto n = count_layer(Scope<Plain>(), a, kind);
  return {.mixer = integer(n.mixer),
          .dense_ffn = integer(n.dense_ffn),
          .routed = integer(n.routed),
          .routed_active = integer(n.routed_active),
          .shared = integer(n.shared),
          .router = integer(n.router),
          .norms = integer(n.norms),
          .other = integer(n.other)};
}

template <class K>
ParameterCount<K> count_parameters(const Scope<K>& s, const Architecture& a) {
  using S = ScalarT<K>;
  const S h = s.input("h", double(a.hidden)), vocab = s.input("V", double(a.vocab));
  const bool projected = a.embedding_width > 0 && a.embedding_width != a.hidden;
  const S width = projected ? s.input("w_emb", double(a.embedding_width)) : h;
  ParameterCount<K> n;

  // 1. Layers, kind by kind.
  std::vector<int> layers_of(a.kinds.size());
  for (const auto kind : a.layers) ++layers_of[kind];
  Sum<K> mixer, dense, routed, routed_active, shared, router, norms, other;
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    if (layers_of[i] == 0) continue;
    const auto c = count_layer(s, a, a.kinds[i]);
    const S layers = s.input("layers_" + a.kinds[i].name, layers_of[i]);
    add_layers(mixer, layers, c.mixer);
    add_layers(dense, layers, c.dense_ffn);
    add_layers(routed, layers, c.routed);
    add_layers(routed_active, layers, c.routed_active);
    add_layers(shared, layers, c.shared);
    add_layers(router, layers, c.router);
    add_layers(norms, layers, c.norms);
    add_layers(other, layers, c.other);
  }

  // 2. What stands outside the layers.
  const double vectors = norm_vectors(a.norm);
  const int outer_norms = int(a.final_norm) + int(a.embedding_norm);
  norms.add_if(vectors > 0 && outer_norms > 0, [&] { return (outer_norms * vectors) * h; });
  other.add_if(projected, [&] { return 2 * width * h; });
  other.add_if(a.extra_parameters > 0, [&] { return s.input("extra", double(a.extra_parameters)); });
  Sum<K> head;
  head.add_if(!a.tied_embeddings, [&] { return vocab * width; });
  head.add_if(a.head_bias, [&] { return vocab; });

  n.embedding = let("embedding", vocab * width);
  if (a.learned_positions > 0) n.positions = let("positions", s.input("rows", double(a.learned_positions)) * h);
  n.mixer = let("mixer", mixer.value());
  n.dense_ffn = let("dense_ffn", dense.value());
  n.routed = let("routed_experts", routed.value());
  n.routed_active = let("routed_experts_active", routed_active.value());
  n.shared = let("shared_experts", shared.value());
  n.router = let("router", router.value());
  n.norms = let("norms", norms.value());
  n.other = let("other", other.value());
  n.head = let("head", head.value());

  // 3. Totals.
  Sum<K> total, active;
  for (const S& block : {n.embedding, n.positions, n.mixer, n.dense_ffn, n.shared, n.router, n.norms, n.other, n.head}) {
    total.add_if(block.si() > 0, [&] { return block; });
  }
  active = total;
  total.add_if(!routed.empty(), [&] { return n.routed; });
  active.add_if(!routed.empty(), [&] { return n.routed_active; });
  n.total = let("total", total.value());
  n.active = routed.empty() ? n.total : let("active", active.value());

  // 4. deepseek-ai2024v3 §2.2: a module joins two normed streams by a 2h → h projection, repeats a layer, norms again.
  if (a.mtp_layers > 0) {
    const auto c = count_layer(s, a, a.kinds[std::size_t(a.mtp_kind)]);
    Sum<K> module;
    module.add(2 * h * h);
    module.add_if(vectors > 0, [&] { return 3 * vectors * h; });
    for (const S& block : {c.mixer, c.dense_ffn, c.routed, c.shared, c.router, c.norms, c.other}) {
      module.add_if(block.si() > 0, [&] { return block; });
    }
    const S modules = s.input("mtp", a.mtp_layers);
    n.mtp = let("mtp", modules * module.value(), "deepseek-ai2024v3");
    if (a.mtp_copies_embeddings) n.mtp_copies = let("mtp_copies", modules * 2 * vocab * width);
  }
  return n;
}
template ParameterCount<Plain> count_parameters(const Scope<Plain>&, const Architecture&);
template ParameterCount<Traced> count_parameters(const Scope<Traced>&, const Architecture&);

Parameters parameters(const Architecture& a) {
  const auto n = count_parameters(Scope<Plain>(), a);
  return {.embedding = integer(n.embedding),
          .positions = integer(n.positions),
          .head = integer(n.head),
          .mixer = integer(n.mixer),
          .dense_ffn = integer(n.dense_ffn),
          .routed = integer(n.routed),
          .shared = integer(n.shared),
          .router = integer(n.router),
          .norms = integer(n.norms),
          .other = integer(n.other),
          .mtp = integer(n.mtp),
          .mtp_copies = integer(n.mtp_copies),
          .total = integer(n.total),
          .total_with_mtp = integer(n.total + n.mtp + n.mtp_copies),
          .active = integer(n.active),
          .active_without_embedding = integer(n.active - n.embedding),
          .active_without_embedding_and_head = integer(n.active - n.embedding - n.head)};
}

std::vector<std::pair<std::string, std::int64_t>> Parameters::by_block() const {
  std::vector<std::pair<std::string, std::int64_t>> blocks;
  for (const auto& [name, count] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"embedding", embedding},
           {"positions", positions},
           {"mixer", mixer},
           {"dense_ffn", dense_ffn},
           {"routed_experts", routed},
           {"shared_experts", shared},
           {"router", router},
           {"norms", norms},
           {"other", other},
           {"head", head}}) {
    if (count > 0) blocks.emplace_back(name, count);
  }
  return blocks;
}

}  // namespace napkin
