#include "model/collective/sharding.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/input_error.hpp"

namespace napkin {

namespace {

int ways(const std::string& axes, const Mesh& mesh) {
  int n = 1;
  for (const char axis : axes) {
    const auto at = mesh.axes.find(axis);
    if (at == mesh.axes.end()) throw InputError(std::string("the mesh has no axis ") + axis + "; write it in --mesh");
    n *= at->second;
  }
  return n;
}
double size(const std::string& dim, const Mesh& mesh) {
  const auto at = mesh.sizes.find(dim);
  if (at == mesh.sizes.end()) throw InputError("dimension " + dim + " has no size; write it in --shape");
  return at->second;
}
// Elements of a dimension on the device that has most: shards are padded to the same length.
double part(const ShardedArray::Dimension& d, const Mesh& mesh) {
  return std::ceil(size(d.name, mesh) / ways(d.axes, mesh));
}
ShardedArray::Dimension* find(ShardedArray& a, const std::string& dim) {
  for (auto& d : a.dims)
    if (d.name == dim) return &d;
  return nullptr;
}
bool has(const ShardedArray& a, const std::string& dim) {
  return std::any_of(a.dims.begin(), a.dims.end(), [&](const auto& d) { return d.name == dim; });
}
std::string text(const ShardedArray& a) {
  std::string s = a.name + "[";
  for (std::size_t i = 0; i < a.dims.size(); ++i)
    s += (i > 0 ? "," : "") + a.dims[i].name + (a.dims[i].axes.empty() ? "" : "_" + a.dims[i].axes);
  return s + "]";
}
// Axes of `all` that are not in `some`.
std::string without(const std::string& all, const std::string& some) {
  std::string s;
  for (const char c : all)
    if (some.find(c) == some.npos) s += c;
  return s;
}

}  // namespace

ShardedArray parse_sharded(std::string_view t) {
  const auto fail = [&] {
    return InputError("\"" + std::string(t) + "\" is not a sharded array; write NAME[DIM_AXES,...], such as A[I_X,J]");
  };
  ShardedArray a;
  const auto open = t.find('[');
  if (open == t.npos || t.empty() || t.back() != ']') throw fail();
  a.name = std::string(t.substr(0, open));
  std::string_view rest = t.substr(open + 1, t.size() - open - 2);
  std::string seen;
  while (true) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view d = rest.substr(0, comma);
    const auto bar = std::min(d.find('_'), d.size());
    ShardedArray::Dimension dim{std::string(d.substr(0, bar)), std::string(bar < d.size() ? d.substr(bar + 1) : "")};
    if (dim.name.empty() || (bar < d.size() && dim.axes.empty())) throw fail();
    for (const char axis : dim.axes) {
      if (seen.find(axis) != seen.npos)
        throw InputError("\"" + std::string(t) + "\" splits two dimensions over the same axis " + axis);
      seen += axis;
    }
    if (has(a, dim.name))
      throw InputError("\"" + std::string(t) + "\" has dimension " + dim.name + " twice; give each a name of its own");
    a.dims.push_back(std::move(dim));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return a;
}

std::string_view to_string(Contraction c) {
  constexpr std::array<std::string_view, 3> names{"as sharded", "gather operands", "add partial sums"};
  return names[static_cast<std::size_t>(c)];
}

double Mesh::devices() const {
  double n = 1;
  for (const auto& [axis, length] : axes) n *= length;
  return n;
}

template <class K>
BytesT<K> shard_bytes(const Scope<K>& scope, const ShardedArray& a, const Mesh& mesh, double bytes_per_element) {
  ScalarT<K> elements = 1;
  for (const auto& d : a.dims) elements = elements * scope.input(d.name + (d.axes.empty() ? "" : "_" + d.axes), part(d, mesh), "of one device");
  return let(a.name + " of a device", elements * scope.input("b", Bytes::si(bytes_per_element), "--element"), "austin2025scaling");
}
template Bytes shard_bytes(const Scope<Plain>&, const ShardedArray&, const Mesh&, double);
template BytesT<Traced> shard_bytes(const Scope<Traced>&, const ShardedArray&, const Mesh&, double);
Bytes shard_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element) {
  return shard_bytes(Scope<Plain>(), a, mesh, bytes_per_element);
}
Bytes array_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element) {
  double elements = 1;
  for (const auto& d : a.dims) elements *= size(d.name, mesh);
  return Bytes::si(elements * bytes_per_element);
}
Bytes total_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element) {
  return mesh.devices() * shard_bytes(a, mesh, bytes_per_element);
}

ShardedProduct sharded_product(const ShardedArray& a_in, const ShardedArray& b_in, const ShardedArray& c,
                               const Mesh& mesh, double bytes_per_element, Contraction how) {
  for (const auto* x : {&a_in, &b_in})
    for (const auto& d : x->dims)
      if (!has(c, d.name) && !(has(a_in, d.name) && has(b_in, d.name)))
        throw InputError("dimension " + d.name + " of " + text(*x) +
                         " is in one operand and not in the result; a product sums over what both operands have");
  ShardedArray a = a_in, b = b_in;
  ShardedProduct p;
  const auto gather = [&](ShardedArray& x, ShardedArray::Dimension& d, const std::string& axes, bool before) {
    if (axes.empty()) return;
    d.axes = without(d.axes, axes);
    p.steps.push_back({Operation::all_gather, axes, text(x), shard_bytes(x, mesh, bytes_per_element), before});
  };
  // Contracted dimensions must be split alike.
  std::string partial;
  for (auto& da : a.dims) {
    auto* db = find(b, da.name);
    if (db == nullptr || has(c, da.name)) continue;
    // A slice is free where the axis does not split the operand already.
    const auto sliced = [&](ShardedArray& x, ShardedArray::Dimension& d, const std::string& axes) {
      for (const auto& other : x.dims)
        for (const char axis : axes)
          if (other.axes.find(axis) != other.axes.npos) return;
      d.axes = axes;
    };
    if (how == Contraction::gather) {
      gather(a, da, std::string(da.axes), true);
      gather(b, *db, std::string(db->axes), true);
    }
    if (how == Contraction::partial && da.axes.empty()) sliced(a, da, db->axes);
    if (how == Contraction::partial && db->axes.empty()) sliced(b, *db, da.axes);
    if (da.axes != db->axes) {
      gather(a, da, without(da.axes, db->axes), true);
      gather(b, *db, without(db->axes, da.axes), true);
    }
    partial += da.axes;
  }
  // The product is split as its operands are; an axis can split it once only, so the second operand is gathered.
  ShardedArray local{c.name, {}};
  std::string used = partial;
  for (const auto& dc : c.dims) {
    ShardedArray& owner = has(a, dc.name) ? a : b;
    auto* d = find(owner, dc.name);
    if (d == nullptr) throw InputError("dimension " + dc.name + " of " + text(c) + " is in neither operand");
    std::string twice;
    for (const char axis : d->axes)
      if (used.find(axis) != used.npos) twice += axis;
    gather(owner, *d, twice, true);
    used += d->axes;
    local.dims.push_back(*d);
  }
  double macs = 1;
  for (const auto& d : local.dims) macs *= part(d, mesh);
  double theory = 1;
  for (const auto& d : c.dims) theory *= size(d.name, mesh);
  for (const auto& da : a.dims)
    if (has(b, da.name) && !has(c, da.name)) {
      macs *= part(da, mesh);
      theory *= size(da.name, mesh);
    }
  p.flops_per_device = Flops::si(2 * macs);
  p.flops_total = mesh.devices() * p.flops_per_device;
  p.over_theory = p.flops_total.si() / (2 * theory);
  // Partial sums: scattered over the axes that C is split by, reduced everywhere over the others.
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    std::string scatter;
    for (const char axis : c.dims[i].axes)
      if (partial.find(axis) != partial.npos) scatter += axis;
    if (!scatter.empty()) {
      const Bytes whole = shard_bytes(local, mesh, bytes_per_element);
      local.dims[i].axes += scatter;
      partial = without(partial, scatter);
      p.steps.push_back({Operation::reduce_scatter, scatter, text(local), whole, false});
    }
  }
  if (!partial.empty())
    p.steps.push_back(
        {Operation::all_reduce, partial, text(local), shard_bytes(local, mesh, bytes_per_element), false});
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    gather(local, local.dims[i], without(local.dims[i].axes, c.dims[i].axes), false);
    if (!without(c.dims[i].axes, local.dims[i].axes).empty())
      local.dims[i].axes = c.dims[i].axes;  // replicated before: every device keeps its slice, free of charge
  }
  return p;
}

}  // namespace napkin
