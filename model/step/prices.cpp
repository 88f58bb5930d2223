#include "model/step/prices.hpp"

#include <bit>

namespace napkin {
namespace {

std::uint64_t word(double v) { return std::bit_cast<std::uint64_t>(v); }
template <Dim D, class K>
std::uint64_t word(Quantity<D, K> v) { return word(v.si()); }

// The kept time, or what `make` computes.
template <class K, std::size_t N, class Make>
SecondsT<K> kept(Memo<N, Seconds, std::vector>& memo, const std::array<std::uint64_t, N>& key, Make make) {
  if constexpr (std::is_same_v<K, Plain>) {
    return memo.get(key, make);
  } else {
    return make();
  }
}

}  // namespace

template <class K>
SecondsT<K> Prices<K>::gemm(Format format, double in, double out, const GemmShape<K>& s) {
  return kept<K>(gemms_, {word(s.m), word(s.n), word(s.k), word(s.count), word(in), word(out), static_cast<std::uint64_t>(format) * 2 + (s.grouped ? 1U : 0U)},
                 [&] { return gemm_cost(scope_, job_.hardware->accelerator, format, in, out, s, Regime::sustained).time; });
}

template <class K>
SecondsT<K> Prices<K>::attention(std::string_view kernel, const AttentionShape<K>& s, Pass pass) {
  const auto mask = static_cast<std::uint64_t>(s.window) * 4 + (s.causal ? 2U : 0U) + (pass == Pass::forward ? 1U : 0U);
  return kept<K>(attentions_,
                 {word(s.batch), word(s.queries), word(s.keys), word(s.heads), word(s.kv_heads), word(s.head_dim),
                  word(s.v_head_dim), mask},
                 [&] {
                   return attention_cost(scope_, job_.hardware->accelerator, kernel, job_.precision.base, s, pass, Regime::sustained)
                       .time;
                 });
}

template <class K>
SecondsT<K> Prices<K>::collective(Operation operation, BytesT<K> bytes, const Group& group) {
  const auto who = static_cast<std::uint64_t>(group.size) * 8 + static_cast<std::uint64_t>(operation);
  const auto blocks = static_cast<std::uint64_t>(group.block) << 40 | static_cast<std::uint64_t>(group.jump);
  return kept<K>(collectives_, {word(bytes), static_cast<std::uint64_t>(group.stride), who, blocks},
                 [&] { return collective_cost(scope_, job_.hardware->network, operation, bytes, group).time; });
}

template class Prices<Plain>;
template class Prices<Traced>;

}  // namespace napkin
