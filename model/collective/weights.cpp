#include "model/collective/weights.hpp"

#include <algorithm>
#include <cmath>

#include "model/input_error.hpp"

namespace napkin {

Holding holding(Bytes array, Bytes shard, Bytes capacity, double reserve) {
  const Bytes usable = (1 - reserve) * capacity;
  if (!(usable > Bytes())) throw InputError("a device of no memory holds nothing; write a capacity above zero");
  Holding h;
  h.left = usable - shard;
  h.devices = std::max(1.0, std::ceil(double(array / usable)));
  h.power_of_two = std::exp2(std::ceil(std::log2(h.devices)));
  return h;
}

std::vector<Balance> weight_balances(const ProductQuestion& q, FlopsPerSecond peak, BytesPerSecond memory,
                                     double experts, double top_k) {
  std::vector<Balance> out;
  const auto p = sharded_product(q.a, q.b, q.c, q.mesh, q.element);
  const Seconds work = top_k * p.flops_per_device / peak;
  const Seconds load = experts * shard_bytes(q.b, q.mesh, q.element) / memory;
  if (!(work > Seconds())) return out;
  for (const auto& d : q.a.dims) {
    const auto in_b = [&](const auto& other) { return other.name == d.name; };
    if (std::any_of(q.b.dims.begin(), q.b.dims.end(), in_b)) continue;
    out.push_back({d.name, q.mesh.sizes.at(d.name) * double(load / work), true});
  }
  return out;
}

}  // namespace napkin
