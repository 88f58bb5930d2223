#include "model/kernel/kernel.hpp"

namespace napkin {

// t = floor + bytes / (fraction · bandwidth)   (williams2009roofline)
// Where a block walks through a row at a time: t = floor + smooth_max(row / row rate, bytes / (fraction · bandwidth)).
template <class K>
KernelCost<K> elementwise_cost(Scope<K> scope, const Accelerator& a, BytesT<K> bytes, Traffic traffic, BytesT<K> row) {
  if (!(bytes.si() > 0)) return {};
  const auto& e = a.elementwise;
  const auto& known = e.by_traffic[static_cast<std::size_t>(traffic)];
  const auto& shortest = e.floors[static_cast<std::size_t>(traffic)];
  const auto rate =
      scope.read("memory fraction", known ? *known : e.memory_fraction) * scope.read("bandwidth", a.memory_bandwidth);
  const auto floor_time = scope.read("elementwise floor", shortest ? *shortest : e.floor);
  if (e.row_rate && row.si() > 0) {
    const auto walk = let("row", row / scope.read("row rate", *e.row_rate));
    const auto transfer = let("transfer", bytes / rate);
    return {let("elementwise", floor_time + smooth_max(walk, transfer), "williams2009roofline"), {}, bytes};
  }
  return {let("elementwise", floor_time + bytes / rate, "williams2009roofline"), {}, bytes};
}

template KernelCost<Plain> elementwise_cost(Scope<Plain>, const Accelerator&, BytesT<Plain>, Traffic, BytesT<Plain>);
template KernelCost<Traced> elementwise_cost(Scope<Traced>, const Accelerator&, BytesT<Traced>, Traffic,
                                             BytesT<Traced>);

}  // namespace napkin
