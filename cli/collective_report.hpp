// Renders what model/collective says of one collective.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/collective/collective.hpp"

namespace napkin::cli {

struct CollectiveQuestion {
  Operation operation{};
  Bytes bytes;
  Group group;
  Network network;
  std::string machine;              // what the network is called
  Wish wish;                        // what of the method is forced
  std::optional<Seconds> measured;  // a measured time: its bandwidths are printed
  std::vector<Bytes> sweep;         // empty = the one size
  std::optional<std::pair<Wish, Wish>> tie;
  std::vector<std::string> notes;  // on the links
  bool explain = false;
};

// All candidates at one size, or the choice at each size of a sweep.
[[nodiscard]] std::string collective_report(const CollectiveQuestion& q, OutputFormat format);

}  // namespace napkin::cli
