#include "calibrate/samples/collective_sample.hpp"

#include <algorithm>
#include <cctype>

#include "model/collective/slice.hpp"

namespace napkin::fit {

namespace {

// Lower-case letters and digits only.
std::string bare_word(std::string_view word) {
  std::string bare;
  for (const char c : word)
    if (c != '_' && c != '-' && c != ' ') bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return bare;
}

}  // namespace

std::optional<Operation> collective_operation(std::string_view word) {
  const auto bare = bare_word(word);
  constexpr Operation all[] = {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                               Operation::all_to_all, Operation::broadcast,  Operation::reduce,
                               Operation::send_recv};
  for (const auto o : all)
    if (bare_word(to_string(o)) == bare) return o;
  return {};
}

std::optional<Method> collective_method(std::string_view algorithm, std::string_view protocol) {
  constexpr Algorithm algorithms[] = {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree,
                                      Algorithm::collnet, Algorithm::pat};
  constexpr Protocol protocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};
  for (const auto a : algorithms)
    for (const auto p : protocols)
      if (bare_word(to_string(a)) == bare_word(algorithm) && bare_word(to_string(p)) == bare_word(protocol))
        return Method{a, p};
  return {};
}

std::size_t size_class(double bytes) {
  constexpr double KiB = 1024, MiB = 1024 * KiB;
  return bytes <= 4 * KiB ? 0 : bytes < 64 * KiB ? 1 : bytes < 16 * MiB ? 2 : 3;
}

CollectiveSample collective_sample(Operation operation, int ranks, int per_node, double bytes, double seconds) {
  CollectiveSample s;
  s.group = to_string(operation);
  s.shape = s.group + " " + std::to_string(ranks) + "x" + std::to_string(static_cast<long long>(bytes));
  s.operation = operation;
  s.ranks = ranks;
  s.per_node = per_node;
  s.bytes = bytes;
  s.seconds = seconds;
  return s;
}

double predict(const Network& network, const CollectiveSample& s) {
  Network n = slice_for(network, s.ranks);
  if (s.per_node > 0) n.tiers.front().size = s.per_node;
  if (!s.multicast) n.tiers.front().in_network_reduction = false;
  const Group all{s.ranks, 1};
  const auto bytes = Bytes::si(s.bytes);
  const auto cost = s.method ? collective_cost(Scope<Plain>(), n, s.operation, bytes, all, *s.method)
                             : collective_cost(Scope<Plain>(), n, s.operation, bytes, all);
  return std::max(cost.time.si() - s.gap, cost.time.si() / 2);
}

}  // namespace napkin::fit
