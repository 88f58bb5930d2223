// Predicted against measured collectives: median, 90th percentile and bias by (machine, operation, ranks) and size.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/hardware_input.hpp"
#include "model/collective/measures.hpp"
#include "model/input/document_input.hpp"

using namespace napkin;

namespace {

// DESIGN: third-party tables stay outside the repository.
std::optional<std::string> shared_data() {
  const char* given = std::getenv("NAPKIN_SHARED_DATA");
  const std::string folder = given != nullptr ? given : NAPKIN_SOURCE_DIR "/../shared/data";
  if (std::filesystem::exists(folder + "/measured/nccl_latency_us.csv")) return folder;
  std::printf("skipped: no shared data at %s\n", folder.c_str());
  return {};
}

struct Row {
  std::string machine, group;  // group: what is printed together
  Operation operation{};
  int ranks = 0;
  double bytes = 0, seconds = 0;
  bool nodes = false;       // several
  double nic = 0, hop = 0;  // of the fabric, where it is not the catalog's
  std::optional<Method> method;
};

const std::map<std::string, std::string, std::less<>> machines{{"A100-SXM4-80GB", "a100-sxm-80gb"},
                                                               {"A100-80GB-SXM(?)", "a100-sxm-80gb"},
                                                               {"A100-40GB-SXM (p4d)", "a100-sxm-80gb"},
                                                               {"H100-SXM5-80GB", "h100-sxm"},
                                                               {"H100-80GB-SXM(not named)", "h100-sxm"},
                                                               {"H200-SXM-141GB", "h200-sxm"},
                                                               {"B200-HGX", "b200-hgx"},
                                                               {"B300-HGX", "b300-hgx"},
                                                               {"GB200", "gb200-nvl72"},
                                                               {"GB300", "gb300-nvl72"},
                                                               {"V100-32GB-SXM2", "v100-sxm2-32gb"}};
const std::map<std::string, Operation, std::less<>> operations{{"all_reduce", Operation::all_reduce},
                                                               {"all_gather", Operation::all_gather},
                                                               {"reduce_scatter", Operation::reduce_scatter},
                                                               {"alltoall", Operation::all_to_all},
                                                               {"all_to_all", Operation::all_to_all},
                                                               {"broadcast", Operation::broadcast},
                                                               {"send_recv", Operation::send_recv}};

std::string machine(const std::string& name) {
  const auto at = machines.find(name);
  return at == machines.end() ? name : at->second;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream s(line);
  for (std::string cell; std::getline(s, cell, ',');) out.push_back(cell);
  return out;
}

// device,nccl,op,dtype,gpus,bytes,latency_us,busbw
std::vector<Row> nccl_table(const std::string& folder) {
  std::vector<Row> rows;
  std::ifstream in(folder + "/measured/nccl_latency_us.csv");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const auto c = split(line);
    if (!machines.contains(c[0])) continue;
    rows.push_back({.machine = machine(c[0]),
                    .group = {},
                    .operation = operations.at(c[2]),
                    .ranks = std::stoi(c[4]),
                    .bytes = std::stod(c[5]),
                    .seconds = std::stod(c[6]) * 1e-6,
                    .method = {}});
  }
  return rows;
}

// One method of each custom all-reduce size is "the best": the faster of one and two shots.
std::vector<Row> custom_table(const std::string& folder) {
  std::vector<Row> rows;
  std::ifstream in(folder + "/measured/custom_allreduce_us.csv");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const auto c = split(line);
    // Above a few MB the engine falls back to NCCL.
    if (!machines.contains(c[0]) || c[1].find("TRT") == c[1].npos || std::stod(c[3]) > 1 << 20) continue;
    rows.push_back({.machine = machine(c[0]),
                    .group = {},
                    .operation = Operation::all_reduce,
                    .ranks = std::stoi(c[2]),
                    .bytes = std::stod(c[3]),
                    .seconds = std::stod(c[4]) * 1e-6,
                    .method = Method{Algorithm::one_shot, Protocol::simple}});
  }
  return rows;
}

// What a row says of its network: bandwidth of a node's NICs, and the latency of the fabric.
void read_fabric(const std::string& nic, int per_node, Row& r) {
  if (nic.find("EFA 400 Gbps") != nic.npos) r.nic = 50e9 / per_node;
  // A message over EFA: 8 bytes over 2 and 16 nodes of p5 take (69 − 16)/2 and (167 − 16)/8 us a hop; 70 on p4d.
  if (nic.find("EFA") != nic.npos) r.hop = r.nic > 0 ? 70e-6 : 20e-6;
}

std::vector<Row> published(const std::string& folder) {
  std::vector<Row> rows;
  std::ifstream in(folder + "/collectives-published.jsonl");
  std::string line;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    const Field f = Document::parse_line(line, "collectives-published.jsonl", n).root();
    const auto text = [&](const char* key) { return f.has(key) && f.find(key) ? f[key].string() : std::string(); };
    const std::string hardware = machine(text("hardware")), source = text("source");
    const auto operation = operations.find(text("collective"));
    if (source.find("aiconfigurator") != source.npos || operation == operations.end() || !f.find("gpus")) continue;
    if (text("notes").find("torch.distributed") != std::string::npos) continue;  // host time included
    const auto names = catalog_names();
    std::string known = hardware;
    if (std::find(names.begin(), names.end(), known) == names.end()) continue;
    Row r;
    r.machine = known;
    r.group = source;
    r.operation = operation->second;
    r.ranks = static_cast<int>(f["gpus"].number());
    r.bytes = f["bytes"].number();
    r.nodes = f["nodes"].number() > 1;
    if (const auto t = f.find("time_us"))
      r.seconds = t->number() * 1e-6;
    else if (const auto b = f.find("busbw_GBps"))
      r.seconds = bus_factor(r.operation, r.ranks) * r.bytes / b->number() * 1e-9;
    if (r.seconds <= 0) continue;
    read_fabric(text("nic"), static_cast<int>(f["gpus_per_node"].number()), r);
    if (text("algo").find("NVLS_ENABLE=0") != std::string::npos) r.method = Method{Algorithm::ring, Protocol::simple};
    rows.push_back(r);
  }
  return rows;
}

std::vector<Row> own_h200(const std::string& folder) {
  std::vector<Row> rows;
  std::ifstream in(folder + "/collectives-h200-2gpu.jsonl");
  std::string line;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    const Field f = Document::parse_line(line, "collectives-h200-2gpu.jsonl", n).root();
    const auto operation = operations.find(f["kind"].string());
    if (operation == operations.end()) continue;
    rows.push_back({.machine = "h200-sxm",
                    .group = {},
                    .operation = operation->second,
                    .ranks = 2,
                    .bytes = f["bytes"].number(),
                    .seconds = f["t_s"].number(),
                    .method = {}});
  }
  return rows;
}

double predict(const Row& r) {
  static std::map<std::string, Network> networks;
  if (!networks.contains(r.machine)) networks[r.machine] = read_hardware(r.machine).network;
  Network n = networks[r.machine];
  for (std::size_t t = 1; t < n.tiers.size(); ++t) {
    if (r.nic > 0) n.tiers[t].bandwidth.value = Bytes::si(r.nic) / second;
    if (r.hop > 0) n.tiers[t].latency.value = Seconds::si(r.hop);
  }
  const Scope<Plain> s;
  const Bytes v = Bytes::si(r.bytes);
  const Group g{r.ranks, 1};
  if (!r.method) return collective_cost(s, n, r.operation, v, g).time.si();
  const double t = collective_cost(s, n, r.operation, v, g, *r.method).time.si();
  if (r.method->algorithm != Algorithm::one_shot) return t;
  return std::min(t, collective_cost(s, n, r.operation, v, g, Method{Algorithm::two_shot, Protocol::simple}).time.si());
}

double percentile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  const double x = q * static_cast<double>(v.size() - 1);
  const auto i = static_cast<std::size_t>(x);
  return v[i] + (x - static_cast<double>(i)) * (v[std::min(i + 1, v.size() - 1)] - v[i]);
}

struct Errors {
  std::vector<double> of;
  [[nodiscard]] double median() const { return percentile(absolute(), 0.5); }
  [[nodiscard]] double p90() const { return percentile(absolute(), 0.9); }
  [[nodiscard]] double bias() const { return percentile(of, 0.5); }
  [[nodiscard]] std::vector<double> absolute() const {
    auto v = of;
    for (double& x : v) x = std::abs(x);
    return v;
  }
};

const char* size_class(double bytes) {
  return bytes < 64 * 1024 ? "< 64 KiB" : bytes < 16 * 1024 * 1024 ? "< 16 MiB" : ">= 16 MiB";
}

// Prints the table by group and size class; returns the errors by size class over all groups.
std::map<std::string, Errors> report(const char* title, const std::vector<Row>& rows) {
  std::map<std::tuple<std::string, std::string, int, std::string, std::string>, Errors> groups;
  std::map<std::string, Errors> all;
  for (const Row& r : rows) {
    const double e = predict(r) / r.seconds - 1;
    groups[{r.machine, std::string(to_string(r.operation)), r.ranks, r.group, size_class(r.bytes)}].of.push_back(e);
    all[size_class(r.bytes)].of.push_back(e);
  }
  std::printf("\n%s: predicted/measured - 1, %%\n", title);
  for (const auto& [k, e] : groups)
    std::printf("  %-14s %-14s %5d %-10s n %3zu  median %5.1f  p90 %5.1f  bias %+6.1f  %s\n", std::get<0>(k).c_str(),
                std::get<1>(k).c_str(), std::get<2>(k), std::get<4>(k).c_str(), e.of.size(), 100 * e.median(),
                100 * e.p90(), 100 * e.bias(), std::get<3>(k).c_str());
  for (const auto& [k, e] : all)
    std::printf("  all %-10s n %4zu  median %5.1f  p90 %5.1f  bias %+6.1f\n", k.c_str(), e.of.size(), 100 * e.median(),
                100 * e.p90(), 100 * e.bias());
  return all;
}

}  // namespace

TEST_SUITE("published collectives") {
  TEST_CASE("nccl-tests tables, one node") {
    const auto folder = shared_data();
    if (!folder) return;
    for (const auto& [size, e] : report("NCCL, one node", nccl_table(*folder))) {
      CAPTURE(size);
      CHECK(e.median() <= 0.10);
      CHECK(e.p90() <= 0.30);
    }
  }

  TEST_CASE("custom all-reduce of a serving engine, up to 1 MiB") {
    const auto folder = shared_data();
    if (!folder) return;
    for (const auto& [size, e] : report("custom all-reduce", custom_table(*folder))) {
      CAPTURE(size);
      CHECK(e.median() <= 0.25);
    }
  }

  TEST_CASE("published by others, several nodes") {
    const auto folder = shared_data();
    if (!folder) return;
    std::vector<Row> one, several;
    for (const Row& r : published(*folder)) (r.nodes ? several : one).push_back(r);
    (void)report("published, one node", one);  // old clusters among them: no target
    const auto e = report("published, several nodes", several);
    CHECK(e.at(">= 16 MiB").median() <= 0.12);
    CHECK(e.at("< 64 KiB").median() <= 0.25);
  }

  TEST_CASE("our own two H200, timed from the host") {
    const auto folder = shared_data();
    if (!folder) return;
    const auto e = report("2 x H200", own_h200(*folder));
    CHECK(e.at(">= 16 MiB").median() <= 0.06);
  }
}
