// Fits the constants of hardware/tuning to a table of measured collectives and prints them:
//   napkin-fit-collectives nccl_latency_us.csv GENERATION
// Groups (hardware, operation, ranks) alternate: half is fitted, the other half only reported.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

#include "calibrate/fit/collective_fit.hpp"
#include "hardware/hardware_input.hpp"
#include "hardware/tuning_input.hpp"
#include "model/input_error.hpp"

using namespace napkin;

namespace {

void print_error(const char* what, CollectivePredictor& predict, const std::vector<CollectiveRecord>& records) {
  std::vector<double> e;
  for (const auto& r : records) e.push_back(std::abs(double(predict(r) / r.measured) - 1));
  if (e.empty()) return;
  std::sort(e.begin(), e.end());
  std::printf("%-10s n %4zu  median %5.1f %%  p90 %5.1f %%\n", what, e.size(), 100 * e[e.size() / 2],
              100 * e[e.size() * 9 / 10]);
}

void print_ring(const char* name, const RingConstants& c) {
  std::printf("  %-7s base %.3g us, hop %.3g us, ramp %.3g us, ramp_size %.3g KiB, share %.3g\n", name,
              1e6 * c.base.value.si(), 1e6 * c.hop.value.si(), 1e6 * c.ramp.value.si(), c.ramp_size.value.si() / 1024,
              c.share.value.si());
}

void run(const std::string& path, const std::string& generation) {
  std::vector<CollectiveRecord> all, fitted, held;
  std::stringstream table(read_text(path));
  std::string row, reason;
  while (std::getline(table, row))
    if (auto r = read_collective_row(row, false, reason);
        r && read_hardware(r->hardware).accelerator.generation == generation)
      all.push_back(std::move(*r));
  const auto half = fitted_half(all);
  for (std::size_t i = 0; i < all.size(); ++i) (half[i] ? fitted : held).push_back(all[i]);
  const auto start = find_tuning(generation);
  if (!start || fitted.empty())
    throw InputError(path + " has no rows of generation \"" + generation + "\" with a tuning");
  const CollectiveFit fit = fit_collectives(*start, fitted);
  CollectivePredictor predict;
  for (const auto& r : all) predict.network(r.hardware).tuning = std::make_shared<CollectiveTuning>(fit.tuning);
  print_error("fitted", predict, fitted);
  print_error("held out", predict, held);
  const CollectiveTuning& t = fit.tuning;
  print_ring("ll", t.ring[0]);
  print_ring("ll128", t.ring[1]);
  print_ring("simple", t.ring[2]);
  std::printf("  gather_copy %.3g, reduce_copy %.3g\n", t.gather_copy.value.si(), t.reduce_copy.value.si());
  std::printf("  nvls    base %.3g us, ramp %.3g us, ramp_size %.3g KiB\n", 1e6 * t.nvls.base.value.si(),
              1e6 * t.nvls.ramp.value.si(), t.nvls.ramp_size.value.si() / 1024);
  std::printf("  direct  base %.3g us, per_peer %.3g us, ramp %.3g us, ramp_size %.3g KiB, share %.3g, copy %.3g\n",
              1e6 * t.direct.base.value.si(), 1e6 * t.direct.per_peer.value.si(), 1e6 * t.direct.ramp.value.si(),
              t.direct.ramp_size.value.si() / 1024, t.direct.share.value.si(), t.direct.copy.value.si());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 3) throw InputError("write a table and a generation: nccl_latency_us.csv hopper");
    run(arguments[1], arguments[2]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "napkin-fit-collectives: %s\n", e.what());
    return 2;
  }
}
