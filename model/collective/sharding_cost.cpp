#include "model/collective/sharding_cost.hpp"

#include <algorithm>
#include <tuple>

#include "model/collective/alpha_beta.hpp"
#include "model/collective/torus.hpp"
#include "model/input_error.hpp"

namespace napkin {

namespace {

ShardedProduct product_of(const ProductQuestion& q, Contraction how) {
  return sharded_product(q.a, q.b, q.c, q.mesh, q.element, how);
}
bool same_steps(const ShardedProduct& a, const ShardedProduct& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), [](const auto& x, const auto& y) {
    return x.operation == y.operation && x.axes == y.axes && x.bytes == y.bytes;
  });
}
ProductQuestion scaled(const ProductQuestion& q, const std::string& dim) {
  ProductQuestion larger = q;
  larger.mesh.sizes[dim] *= 2;
  return larger;
}
bool moves_alike(const ShardedProduct& a, const ShardedProduct& b) {
  if (a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i)
    if (a.steps[i].bytes != b.steps[i].bytes) return false;
  return true;
}

}  // namespace

int step_ranks(const Mesh& mesh, const ShardedProduct::Step& s) {
  int n = 1;
  for (const char axis : s.axes) n *= mesh.axes.at(axis);
  return n;
}

template <class K>
SecondsT<K> step_time(const Scope<K>& scope, const Mesh& mesh, const ShardedProduct::Step& s, const MeshLinks& links) {
  const int n = step_ranks(mesh, s);
  if (n == 1) return {};
  const auto bytes = scope.input("n", s.bytes, s.array);
  const auto link = scope.input("B", links.link, "--link");
  if (links.kind != MeshLinks::Kind::switched) {
    Axes axes;
    for (const char axis : s.axes) {
      if (mesh.axes.at(axis) == 1) continue;
      if (axes.count == max_axes) throw InputError("a collective over more than 4 mesh axes is not known");
      axes.axis[axes.count++] = {mesh.axes.at(axis), links.kind == MeshLinks::Kind::ring, true};
    }
    return torus_cost(scope, s.operation, BytesT<K>(bytes), axes, BytesPerSecondT<K>(link), SecondsT<K>()).time;
  }
  Links<K> l;
  l.inner = l.per_member = l.egress = l.pair = l.spread = link;
  const Placement p{.ranks = n, .tiers = 1, .members = {static_cast<double>(n)}, .nodes = 1};
  return alpha_beta_cost(scope, s.operation, BytesT<K>(bytes), p, l, Algorithm::ring).time;
}
template Seconds step_time(const Scope<Plain>&, const Mesh&, const ShardedProduct::Step&, const MeshLinks&);
template SecondsT<Traced> step_time(const Scope<Traced>&, const Mesh&, const ShardedProduct::Step&, const MeshLinks&);

Seconds step_time(const Mesh& mesh, const ShardedProduct::Step& s, const MeshLinks& links) {
  return step_time(Scope<Plain>(), mesh, s, links);
}

ProductTime product_time(const ShardedProduct& p, const Mesh& mesh, const MeshLinks& links, FlopsPerSecond peak) {
  ProductTime t{.product = p.flops_per_device / peak, .communication = {}};
  for (const auto& s : p.steps) t.communication += step_time(mesh, s, links);
  return t;
}

std::vector<Alternative> alternatives(const ProductQuestion& q, const MeshLinks& links, FlopsPerSecond peak) {
  std::vector<Alternative> out;
  for (const Contraction how : {Contraction::least, Contraction::gather, Contraction::partial}) {
    ShardedProduct p = product_of(q, how);
    if (std::any_of(out.begin(), out.end(), [&](const auto& other) { return same_steps(other.product, p); })) continue;
    const ProductTime t = product_time(p, q.mesh, links, peak);
    out.push_back({how, std::move(p), t});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) {
    return std::tuple(x.time.overlapped(), x.time.sequential()) < std::tuple(y.time.overlapped(), y.time.sequential());
  });
  return out;
}

std::vector<Arrangement> arrangements(const ProductQuestion& q, const MeshLinks& links, FlopsPerSecond peak) {
  // Each axis goes to one dimension of the product, or to none.
  std::vector<std::string> dims;
  const auto note = [&](const ShardedArray& x) {
    for (const auto& d : x.dims)
      if (std::find(dims.begin(), dims.end(), d.name) == dims.end()) dims.push_back(d.name);
  };
  note(q.a);
  note(q.b);
  const std::size_t choices = dims.size() + 1;
  std::size_t count = 1;
  constexpr std::size_t most = 100'000;
  for (std::size_t i = 0; i < q.mesh.axes.size(); ++i)
    if ((count *= choices) > most) throw InputError("--rank: too many axes to lay out in every way; write fewer");
  std::vector<Arrangement> out;
  for (std::size_t code = 0; code < count; ++code) {
    std::map<std::string, std::string> axes_of_dim;
    std::size_t rest = code;
    for (const auto& [axis, length] : q.mesh.axes) {
      if (const std::size_t at = rest % choices; at < dims.size()) axes_of_dim[dims[at]] += axis;
      rest /= choices;
    }
    ProductQuestion laid = q;
    for (auto* x : {&laid.a, &laid.b})
      for (auto& d : x->dims) d.axes = axes_of_dim[d.name];
    const ShardedProduct p = product_of(laid, Contraction::least);
    out.push_back({laid.a, laid.b, product_time(p, q.mesh, links, peak), p.steps.size()});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) {
    return std::tuple(x.time.overlapped(), x.time.sequential()) < std::tuple(y.time.overlapped(), y.time.sequential());
  });
  return out;
}

std::vector<Balance> balances(const ProductQuestion& q, const ShardedProduct& p, const MeshLinks& links,
                              FlopsPerSecond peak) {
  std::vector<Balance> out;
  const ProductTime t = product_time(p, q.mesh, links, peak);
  if (!(t.product > Seconds()) || !(t.communication > Seconds())) return out;
  const double ratio = double(t.communication / t.product);
  // A dimension that the communication does not grow with hides it once it is this large.
  for (const auto& [dim, size] : q.mesh.sizes) {
    const ProductQuestion larger = scaled(q, dim);
    const auto grown = product_of(larger, Contraction::least);
    if (moves_alike(grown, p) && grown.flops_per_device != p.flops_per_device) out.push_back({dim, size * ratio, true});
  }
  // An axis that shares out the arithmetic, all communication along it, of bytes that do not depend on it: the product
  // shrinks as 1/X, the collective only as its (X − 1)/X (a closed ring with both directions: not at all).
  for (const auto& [axis, length] : q.mesh.axes) {
    if (length < 2 ||
        std::any_of(p.steps.begin(), p.steps.end(), [&](const auto& s) { return s.axes != std::string(1, axis); }))
      continue;
    ProductQuestion wider = q;
    wider.mesh.axes[axis] *= 2;
    const auto spread = product_of(wider, Contraction::least);
    if (!moves_alike(spread, p) || spread.flops_per_device == p.flops_per_device) continue;
    const bool closed = links.kind == MeshLinks::Kind::ring;
    const double limit = closed ? length / ratio : 1 + (length - 1) / ratio;
    out.push_back({std::string(1, axis), limit, false});
  }
  return out;
}

std::vector<Balance> overtakes(const ProductQuestion& q, Contraction slow, Contraction busy, const MeshLinks& links,
                               FlopsPerSecond peak) {
  std::vector<Balance> out;
  const auto moving = product_of(q, slow), working = product_of(q, busy);
  const double ratio = double(product_time(moving, q.mesh, links, peak).communication /
                              product_time(working, q.mesh, links, peak).product);
  for (const auto& [dim, size] : q.mesh.sizes) {
    const ProductQuestion larger = scaled(q, dim);
    const auto grown = product_of(larger, busy);
    if (moves_alike(product_of(larger, slow), moving) && grown.flops_per_device != working.flops_per_device)
      out.push_back({dim, size * ratio, true});
  }
  return out;
}

}  // namespace napkin
