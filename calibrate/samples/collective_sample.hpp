// One measured collective, and what the model gives for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/collective/collective.hpp"

namespace napkin::fit {

struct CollectiveSample {
  std::string group;  // "all-reduce"
  std::string shape;  // "all-reduce 8 x 1048576"
  Operation operation = Operation::all_reduce;
  int ranks = 2;
  int per_node = 0;  // ranks that share a node; 0 = as many as the machine has
  std::optional<Method> method;  // where the run forced one
  double bytes = 0;  // the whole buffer, as nccl-tests counts
  double seconds = 0;
  bool multicast = true;  // false: the run kept the switch from reducing (NVLS off)
  bool kernel_alone = false;  // start to end of the kernel on the device
  double gap = 0;             // then: seconds that a call costs in a stream beside its kernel, which the model counts
  bool host_timed = false;
  double call = 0;  // seconds of the smallest call timed the same way, where host-timed
};

// "all_reduce", "all-reduce", "AllReduce", "alltoall", "sendrecv"; nothing for other words.
[[nodiscard]] std::optional<Operation> collective_operation(std::string_view word);
// Of a library's words for an algorithm and a protocol: "Ring", "LL128".
[[nodiscard]] std::optional<Method> collective_method(std::string_view algorithm, std::string_view protocol);
// Of a message: what bounds it is latency, a protocol, or the link. In the order of `size_classes`.
inline constexpr std::string_view size_classes[] = {"to 4 KiB", "4 to 64 KiB", "64 KiB to 16 MiB", "16 MiB and more"};
[[nodiscard]] std::size_t size_class(double bytes);
[[nodiscard]] CollectiveSample collective_sample(Operation operation, int ranks, int per_node, double bytes,
                                                 double seconds);
// Library constants are of calls in a row, as nccl-tests times them: where the kernel alone was timed, `gap` less.
[[nodiscard]] double predict(const Network& network, const CollectiveSample& s);

}  // namespace napkin::fit
