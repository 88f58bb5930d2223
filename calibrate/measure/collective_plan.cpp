// The collectives: every kind over all ranks by size, subsets of ranks, forced algorithms and protocols, groups at once.
#include <algorithm>
#include <cmath>
#include <string>

#include "calibrate/measure/case.hpp"

namespace napkin::measure {
namespace {

constexpr std::int64_t MiB = 1 << 20, GiB = 1 << 30;

Case collective(const char* kind, std::int64_t bytes, int ranks, int groups_at_once, const char* algorithm, const char* protocol) {
  return {"collective",
          {{"kind", kind}, {"bytes", bytes}, {"world", ranks}, {"groups", groups_at_once}, {"algo", algorithm}, {"proto", protocol}},
          0.05 + static_cast<double>(bytes) / 2e10};
}

}  // namespace

std::vector<Case> collective_cases(const Machine& machine, bool quick) {
  std::vector<Case> out;
  constexpr const char* kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast"};
  if (machine.devices < 2) return out;
  std::vector<int> worlds;
  for (const int world : {2, 4, 8})
    if (world < machine.devices) worlds.push_back(world);
  worlds.push_back(machine.devices);
  const std::int64_t most = std::min<std::int64_t>(4 * GiB, static_cast<std::int64_t>(machine.memory / 4));
  // One communicator after another: creating one takes longer than most measurements.
  for (const int world : worlds)
    for (const char* kind : kinds)
      for (std::int64_t bytes = 8; bytes <= most; bytes *= 2)
        if (!quick || bytes == 8 || bytes == MiB || bytes == 256 * MiB)
          out.push_back(collective(kind, bytes, world, 1, "auto", "auto"));
  for (const int world : worlds)
    for (int at_once = 2; world * at_once <= machine.devices && !quick; at_once *= 2)
      for (const char* kind : {"all_reduce", "all_gather", "all_to_all"})
        for (const std::int64_t bytes : {MiB, 64 * MiB, GiB}) out.push_back(collective(kind, bytes, world, at_once, "auto", "auto"));
  if (quick) return out;
  for (const char* algorithm : {"Ring", "Tree"})
    for (const char* protocol : {"LL", "LL128", "Simple"})
      for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter"}) {
        if (std::string(algorithm) == "Tree" && std::string(kind) != "all_reduce") continue;
        for (std::int64_t bytes = 8; bytes <= GiB; bytes *= 8) out.push_back(collective(kind, bytes, machine.devices, 1, algorithm, protocol));
      }
  return out;
}

}  // namespace napkin::measure
