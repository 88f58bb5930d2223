// Options of napkin collective, and the network that they describe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/collective/collective.hpp"
#include "model/collective/expert_exchange.hpp"

namespace napkin::cli {

struct CollectiveOptions {
  std::string operation, bytes, sizes, hardware, sweep, algorithm, protocol, time, tie, fabric, placement;
  std::string alpha, bandwidth, inner_alpha, inner_bandwidth, torus, nic_bandwidth, net_latency;
  Routing routing;
  bool each_expert = false;
  int ranks = 0, per_node = 0, concurrent = 1, peers = 0;
  long long stride = 1;
  double oversubscription = 0, capacity = 0;
  bool explain = false, in_network = false, open = false, one_way = false;
  OutputFormat format = OutputFormat::table;
};

struct Machine {
  Network network;
  std::string name;
  std::vector<std::string> notes;
};
// --hw with its changes, or links of one's own. InputError names the option at fault.
[[nodiscard]] Machine collective_machine(const CollectiveOptions& o);

// --placement as a stride: "packed" fills the nodes one after another, "spread" leaves one member per node.
void place_members(CollectiveOptions& o);

// InputError when an option was given that has no effect on this operation or these links.
void refuse_idle_options(const CLI::App& command, const CollectiveOptions& o);

// Dispatch or combine of experts, and transfers of unequal sizes: one answer each, no candidates.
[[nodiscard]] std::string expert_exchange_report(const CollectiveOptions& o);
[[nodiscard]] std::string ragged_report(const CollectiveOptions& o);

}  // namespace napkin::cli
