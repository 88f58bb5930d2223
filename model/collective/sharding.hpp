// A matrix product of sharded arrays: bytes and FLOPs of one device, and the collectives that make the shards meet
// (austin2025scaling, "Sharded Matrices").
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective/collective.hpp"

namespace napkin {

// A[I_X,J_YZ]: dimension J is split over the mesh axes Y and Z.
struct ShardedArray {
  struct Dimension {
    std::string name;
    std::string axes;  // one letter each
  };
  std::string name;
  std::vector<Dimension> dims;
};
// "A[I_X,J]"; InputError says what is wrong with the notation.
[[nodiscard]] ShardedArray parse_sharded(std::string_view text);

struct Mesh {
  std::map<std::string, double> sizes;  // "I" → elements
  std::map<char, int> axes;             // 'X' → devices
  [[nodiscard]] double devices() const;
};
// Bytes of one device's shard, padded where the axes do not divide a dimension.
[[nodiscard]] Bytes shard_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element);
template <class K>
[[nodiscard]] BytesT<K> shard_bytes(const Scope<K>& scope, const ShardedArray& a, const Mesh& mesh, double bytes_per_element);
// Bytes of the array itself.
[[nodiscard]] Bytes array_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element);
// Bytes over all devices, replicas counted.
[[nodiscard]] Bytes total_bytes(const ShardedArray& a, const Mesh& mesh, double bytes_per_element);

struct ShardedProduct {
  struct Step {
    Operation operation{};
    std::string axes, array;  // "Y", "C[I_X,K]": as it is after the step
    Bytes bytes;              // whole buffer, as collective_cost takes it
    bool before = true;       // on an operand; false: on the product
  };
  std::vector<Step> steps;
  Flops flops_per_device, flops_total;  // executed, replicated work counted
  double over_theory = 1;               // flops_total / 2·I·J·K
};
// What is done to a contracted dimension: `least` gathers what is split in one operand only; `gather` gathers both
// operands, and no device is left with a partial sum; `partial` slices the operand that is whole, free of charge, and adds
// partial sums.
enum class Contraction : std::uint8_t { least, gather, partial };
[[nodiscard]] std::string_view to_string(Contraction c);

// C = A·B summed over the dimensions that A and B share and C lacks. A contracted dimension split alike in both leaves
// partial sums: an all-reduce, or a reduce-scatter where C is split over that axis. Split in one operand only, that
// operand is gathered. An axis that splits a dimension of the product but not of C is gathered after.
[[nodiscard]] ShardedProduct sharded_product(const ShardedArray& a, const ShardedArray& b, const ShardedArray& c,
                                             const Mesh& mesh, double bytes_per_element,
                                             Contraction how = Contraction::least);

}  // namespace napkin
