// Time of a sharded product: its arithmetic, its collectives, other ways to run it, and where one overtakes the other
// (austin2025scaling, "Sharded Matrices").
#pragma once

#include <optional>

#include "model/collective/sharding.hpp"

namespace napkin {

// What joins the devices along an axis of the mesh: links of its own, closed or not, both directions used; or a switch.
struct MeshLinks {
  enum class Kind : std::uint8_t { ring, line, switched };
  Kind kind = Kind::ring;
  BytesPerSecond link;  // one link of an axis, or a rank at the switch, one direction
};
[[nodiscard]] int step_ranks(const Mesh& mesh, const ShardedProduct::Step& step);
// InputError when the collective spans more axes than a torus has.
template <class K>
[[nodiscard]] SecondsT<K> step_time(const Scope<K>& scope, const Mesh& mesh, const ShardedProduct::Step& step, const MeshLinks& links);
[[nodiscard]] Seconds step_time(const Mesh& mesh, const ShardedProduct::Step& step, const MeshLinks& links);

struct ProductTime {
  Seconds product, communication;
  [[nodiscard]] Seconds overlapped() const { return max(product, communication); }
  [[nodiscard]] Seconds sequential() const { return product + communication; }
};
[[nodiscard]] ProductTime product_time(const ShardedProduct& p, const Mesh& mesh, const MeshLinks& links,
                                       FlopsPerSecond peak);

// The three arrays of a product, and how they are laid out.
struct ProductQuestion {
  ShardedArray a, b, c;
  Mesh mesh;
  double element = 2;  // bytes
};

// One way to answer the question: what is done to the contracted dimension.
struct Alternative {
  Contraction how{};
  ShardedProduct product;
  ProductTime time;
};
// The ways that differ in what they move, the fastest (overlapped, then sequential) first.
[[nodiscard]] std::vector<Alternative> alternatives(const ProductQuestion& q, const MeshLinks& links,
                                                    FlopsPerSecond peak);
// All layouts of the mesh's axes over the dimensions of the product, the result left as it is; the fastest first.
struct Arrangement {
  ShardedArray a, b;
  ProductTime time;
  std::size_t collectives = 0;
};
[[nodiscard]] std::vector<Arrangement> arrangements(const ProductQuestion& q, const MeshLinks& links,
                                                    FlopsPerSecond peak);

// Sizes at which communication takes as long as arithmetic, the other sizes as they are.
struct Balance {
  std::string name;  // a dimension, or an axis
  double size = 0;
  bool above = true;  // compute-bound above it (a dimension), or below it (an axis that the work is split over)
};
[[nodiscard]] std::vector<Balance> balances(const ProductQuestion& q, const ShardedProduct& p, const MeshLinks& links,
                                            FlopsPerSecond peak);
// Dimension sizes above which `slow`, bound by its communication, beats `busy`, bound by its arithmetic.
[[nodiscard]] std::vector<Balance> overtakes(const ProductQuestion& q, Contraction slow, Contraction busy,
                                             const MeshLinks& links, FlopsPerSecond peak);

}  // namespace napkin
