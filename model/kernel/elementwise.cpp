#include "model/kernel/kernel.hpp"

namespace napkin {

// t = floor + bytes / (fraction · bandwidth)   (williams2009roofline)
template <class K>
KernelCost<K> elementwise_cost(Scope<K> scope, const Accelerator& a, BytesT<K> bytes, Traffic traffic) {
  if (!(bytes.si() > 0)) return {};
  const auto& known = a.elementwise.by_traffic[static_cast<std::size_t>(traffic)];
  const auto rate = scope.read("memory fraction", known ? *known : a.elementwise.memory_fraction) *
                    scope.read("bandwidth", a.memory_bandwidth);
  const auto time =
      let("elementwise", scope.read("elementwise floor", a.elementwise.floor) + bytes / rate, "williams2009roofline");
  return {time, {}, bytes};
}

template KernelCost<Plain> elementwise_cost(Scope<Plain>, const Accelerator&, BytesT<Plain>, Traffic);
template KernelCost<Traced> elementwise_cost(Scope<Traced>, const Accelerator&, BytesT<Traced>, Traffic);

}  // namespace napkin
