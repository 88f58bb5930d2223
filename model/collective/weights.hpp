// Arrays that must be held and loaded: how many devices, and when arithmetic outweighs the loading.
#pragma once

#include "model/collective/sharding_cost.hpp"

namespace napkin {

struct Holding {
  Bytes left;  // of the usable memory, beside one device's shard; negative when it does not fit
  double devices = 1, power_of_two = 1;  // fewest that hold the array, each 1/n of it
};
// Usable = capacity · (1 − reserve). InputError when nothing is usable.
[[nodiscard]] Holding holding(Bytes array, Bytes shard, Bytes capacity, double reserve);

// Sizes at which the FLOPs of the product take as long as loading its second operand, austin2025scaling "Rooflines":
// 2·I·J·K·k/C = E·J·K·element/W, for E experts of which a row visits k.
[[nodiscard]] std::vector<Balance> weight_balances(const ProductQuestion& q, FlopsPerSecond peak, BytesPerSecond memory,
                                                   double experts, double top_k);

}  // namespace napkin
