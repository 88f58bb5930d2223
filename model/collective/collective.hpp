// Collectives: operation, bytes, placement → seconds, with the algorithm and protocol that would be chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/constant.hpp"
#include "model/transformer/shapes.hpp"

namespace napkin {

[[nodiscard]] std::string_view to_string(Operation o);

// A process group in the rank order of the cluster: members are first, first + stride, first + 2·stride, ... Where they come
// in blocks, `block` of them are a stride apart and the next block begins `jump` accelerators after the one before.
// All groups of the same shape communicate at the same time, as data-parallel groups of a layout do.
struct Group {
  int size = 1;
  long long stride = 1;
  int block = 0;       // 0: one block
  long long jump = 0;
  // Accelerators from the first member to the last, both included.
  [[nodiscard]] long long span() const {
    return block == 0 ? (size - 1) * stride + 1 : (size / block - 1) * jump + (block - 1) * stride + 1;
  }
  friend bool operator==(const Group&, const Group&) = default;
};

// `none` is the group of one rank. The custom all-reduces (`one_shot`, `two_shot`) belong to serving engines and are
// never chosen for a library that has a tuning; they can be asked for.
enum class Algorithm : std::uint8_t {
  none,
  ring,
  tree,
  recursive_doubling,
  rabenseifner,
  mst,
  pat,
  nvls,
  nvls_tree,
  collnet,
  hierarchical,
  direct,
  torus,
  one_shot,
  two_shot,
};
[[nodiscard]] std::string_view to_string(Algorithm a);

// An algorithm and the protocol of its transfers (`simple` where the library has only one).
struct Method {
  Algorithm algorithm = Algorithm::none;
  Protocol protocol = Protocol::simple;
  friend bool operator==(const Method&, const Method&) = default;
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

// The same, by a stated method. InputError when the method cannot run the operation on this network.
template <class K>
[[nodiscard]] CollectiveCost<K> collective_cost(Scope<K> scope, const Network& network, Operation operation,
                                                BytesT<K> bytes, const Group& group, Method method);

// What is asked of the method: what is left open is chosen at each size, the least time among what can run.
struct Wish {
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  double share = 1;  // of its bandwidth that it reaches, in (0, 1]
  [[nodiscard]] bool open() const { return !algorithm && !protocol; }
  [[nodiscard]] bool allows(Method m) const {
    return (!algorithm || *algorithm == m.algorithm) && (!protocol || *protocol == m.protocol);
  }
};
struct Wished {
  Method method;
  CollectiveCost<Plain> cost;
};
// InputError when nothing that is wished for can run; it lists what can.
[[nodiscard]] Wished wished_cost(const Network& network, Operation operation, Bytes bytes, const Group& group,
                                 const Wish& wish);

// Every method that can run the operation on this network, with its time; `chosen` marks the one collective_cost takes.
struct Candidate {
  Method method;
  CollectiveCost<Plain> cost;
  Seconds estimate;       // what the library itself believes (NCCL's tuning model); zero without a library
  bool left = false;      // the library's estimate has moved past it at this size
  bool automatic = true;  // false: only when asked for
  bool chosen = false;
};
[[nodiscard]] std::vector<Candidate> candidates(const Network& network, Operation operation, Bytes bytes,
                                                const Group& group);

}  // namespace napkin
