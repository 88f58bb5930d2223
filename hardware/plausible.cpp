#include "hardware/plausible.hpp"

#include "model/text.hpp"

namespace napkin {
namespace {

// Far outside what any accelerator of the last or the next ten years has: a slip of a unit, not a new machine.
struct Range {
  double low, high;
};
constexpr Range peak_range{1e12, 1e18}, capacity_range{1e9, 1e13}, bandwidth_range{1e10, 1e15},
    link_range{1e8, 1e13}, host_range{1e9, 1e13}, clock_range{1e8, 1e10}, power_range{10, 1e5}, time_range{1e-8, 1e-2};

class Report {
  std::vector<std::string> lines_;

 public:
  template <class Q>
  void within(const Constant<Q>& c, Range r, const std::string& what) {
    if (c.value.si() < r.low || c.value.si() > r.high)
      lines_.push_back(c.place + ": " + format(c.value) + " is no plausible " + what + "; is the unit right?");
  }
  template <class Q>
  void within(const std::optional<Constant<Q>>& c, Range r, const std::string& what) {
    if (c) within(*c, r, what);
  }
  template <class Q>
  void add(const Constant<Q>& c, const std::string& text) {
    lines_.push_back(c.place + ": " + text);
  }
  [[nodiscard]] std::vector<std::string> lines() && { return std::move(lines_); }
};

void check_accelerator(const Accelerator& a, Report& report) {
  for (std::size_t i = 0; i < number_format_count; ++i) {
    report.within(a.peak[i], peak_range, "peak");
    const auto& rate = a.gemm.rate[i];
    if (rate && rate->sustained && rate->burst && rate->sustained->value > rate->burst->value)
      report.add(*rate->sustained, "a sustained rate above the burst rate");
  }
  report.within(a.capacity, capacity_range, "memory capacity");
  report.within(a.memory_bandwidth, bandwidth_range, "memory bandwidth");
  report.within(a.clock, clock_range, "clock");
  report.within(a.power, power_range, "power");
  report.within(a.host_bandwidth, host_range, "link to the host");
  report.within(a.launch, time_range, "launch time");
  report.within(a.gemm.floor, time_range, "kernel floor");
  report.within(a.elementwise.floor, time_range, "kernel floor");
  for (const auto& floor : a.elementwise.floors) report.within(floor, time_range, "kernel floor");
  for (const auto& [name, kernel] : a.attention) report.within(kernel.floor, time_range, "kernel floor");
  if (a.l2 && a.l2->value >= a.capacity.value) report.add(*a.l2, "a cache as large as the memory");
  if (a.host_bandwidth.value > a.memory_bandwidth.value)
    report.add(a.host_bandwidth, "a link to the host faster than the memory");
}

void check_network(const Hardware& h, Report& report) {
  const Tier* inner = nullptr;
  for (const auto& t : h.network.tiers) {
    report.within(t.bandwidth, link_range, "link bandwidth");
    report.within(t.latency, time_range, "latency");
    if (t.bandwidth.value > h.accelerator.memory_bandwidth.value)
      report.add(t.bandwidth, "tier \"" + t.name + "\" is faster than the memory");
    if (inner != nullptr && t.bandwidth.value > inner->bandwidth.value)
      report.add(t.bandwidth, "tier \"" + t.name + "\" is faster than tier \"" + inner->name + "\" inside it");
    inner = &t;
  }
  const auto& outermost = h.network.tiers.back();
  if (outermost.size != 0 && outermost.size < h.network.node_size)
    report.add(outermost.bandwidth, "the outermost tier is smaller than a node of " +
                                        std::to_string(h.network.node_size) + " accelerators");
}

}  // namespace

std::vector<std::string> implausible(const Hardware& h) {
  Report report;
  check_accelerator(h.accelerator, report);
  check_network(h, report);
  return std::move(report).lines();
}

}  // namespace napkin
