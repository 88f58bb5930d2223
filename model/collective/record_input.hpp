// Measured collectives, as records: one line of a published table or of our own measurements, and what napkin predicts
// for it. Tests, `validate` and the fit read them here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective/collective.hpp"
#include "model/input/document_input.hpp"

namespace napkin {

struct CollectiveRecord {
  std::string hardware;  // catalog name
  std::string source;    // where it was published
  Operation operation{};
  int ranks = 1;
  bool several_nodes = false;
  int per_node = 0;  // accelerators of one host, where the record says
  Bytes bytes;
  Seconds measured;
  std::optional<BytesPerSecond> nic;   // of one accelerator, where the record says
  std::string fabric;                  // "efa", ...: known_fabrics(); empty = the catalog's
  std::optional<Algorithm> algorithm;  // forced in the run
  bool host_timed = false;             // called through a framework: nothing is shorter than its call
  bool custom = false;                 // the serving engine's own all-reduce: the faster of one and two shots
};

// A JSON line of either schema: {hardware, collective, gpus, bytes, time_us | busbw_GBps, ...}, or our own {kind,
// bytes, t_s}, measured on `hardware` with `ranks`. Nothing, with the reason, where the line is no collective that
// napkin knows.
[[nodiscard]] std::optional<CollectiveRecord> read_collective_record(const Field& line, std::string& reason,
                                                                     std::string_view hardware = {}, int ranks = 0);
// A row of a table "device,nccl,op,dtype,gpus,bytes,latency_us,busbw", or "device,method,gpus,bytes,latency_us" with
// `custom`.
[[nodiscard]] std::optional<CollectiveRecord> read_collective_row(std::string_view row, bool custom,
                                                                  std::string& reason);

// What a published line says of the conditions: nodes and their NICs, the algorithm forced, whether a framework called.
void read_conditions(const Field& line, CollectiveRecord& r);

// Record → predicted seconds on `machine`, with the record's hosts and NICs where it says. A call through a framework
// takes at least framework_call().
[[nodiscard]] Seconds predicted_time(const Network& machine, const CollectiveRecord& r);

// The same by the machine's name; keeps the networks that it has read.
class CollectivePredictor {
 public:
  [[nodiscard]] Seconds operator()(const CollectiveRecord& r);
  // The network of a catalog machine, to be changed (the fit tries constants on it).
  [[nodiscard]] Network& network(const std::string& hardware);

 private:
  std::map<std::string, Network> networks_;
};

// Which records a fit may see: groups (hardware, operation, ranks) in their order alternate, the first is fitted.
[[nodiscard]] std::vector<bool> fitted_half(const std::vector<CollectiveRecord>& records);

}  // namespace napkin
