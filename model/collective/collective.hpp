// Collectives: operation, bytes, placement → seconds, with the algorithm and protocol that would be chosen.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/hardware.hpp"
#include "model/constant.hpp"

namespace napkin {

enum class Operation : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv };
[[nodiscard]] std::string_view to_string(Operation o);

// A process group in the rank order of the cluster: members are first, first + stride, first + 2·stride, ...
// All groups of the same shape communicate at the same time, as data-parallel groups of a layout do.
struct Group {
  int size = 1;
  long long stride = 1;
  friend bool operator==(const Group&, const Group&) = default;
};

template <class K>
struct CollectiveCost {
  SecondsT<K> time{}, latency{}, bandwidth{};  // time = latency + bandwidth part
  const char* algorithm = "none";              // "ring", "tree", "nvls", ...
  const char* protocol = "none";               // "ll", "ll128", "simple"
};

// `bytes` is the size of the whole buffer in the nccl-tests sense: all-reduce, broadcast, reduce: the vector;
// all-gather: the gathered result; reduce-scatter: the input; all-to-all: what one rank sends in all (its own part
// included); send/recv: the message. One rank is free.
template <class K>
[[nodiscard]] CollectiveCost<K> collective_cost(Scope<K> scope, const Network& network, Operation operation,
                                                BytesT<K> bytes, const Group& group);

}  // namespace napkin
