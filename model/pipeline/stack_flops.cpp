#include "model/pipeline/stack_flops.hpp"

#include "model/transformer/flops.hpp"

namespace napkin {

Stack stack_flops(const Architecture& a, std::int64_t sequence) {
  Architecture part = a;
  const auto flops = [&] {
    return training_flops_per_token(Scope<Plain>{}, part, sequence, FlopConvention::causal_half).total.si();
  };
  Stack stack;
  part.layers.clear();
  part.mtp_layers = 0;
  stack.head = flops();
  part.mtp_layers = stack.mtp_modules = a.mtp_layers;
  stack.mtp = flops() - stack.head;
  part.mtp_layers = 0;
  std::vector<double> of_kind;
  for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
    part.layers = {static_cast<std::uint8_t>(kind)};
    of_kind.push_back(flops() - stack.head);
  }
  for (const std::uint8_t kind : a.layers) stack.layers.push_back(of_kind[kind]);
  return stack;
}

}  // namespace napkin
