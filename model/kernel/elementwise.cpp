#include "model/kernel/kernel.hpp"

namespace napkin {

// t = floor + bytes / (fraction · bandwidth)   (williams2009roofline)
template <class K>
KernelCost<K> elementwise_cost(Scope<K> scope, const Accelerator& a, BytesT<K> bytes) {
  if (!(bytes.si() > 0)) return {};
  const auto rate = scope.read("memory fraction", a.elementwise.memory_fraction) *
                    scope.read("bandwidth", a.memory_bandwidth);
  const auto time =
      let("elementwise", scope.read("elementwise floor", a.elementwise.floor) + bytes / rate, "williams2009roofline");
  return {time, {}, bytes};
}

template KernelCost<Plain> elementwise_cost(Scope<Plain>, const Accelerator&, BytesT<Plain>);
template KernelCost<Traced> elementwise_cost(Scope<Traced>, const Accelerator&, BytesT<Traced>);

}  // namespace napkin
