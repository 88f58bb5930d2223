#include "model/collective/slice.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace napkin {

namespace {

std::vector<bool> closed(const Tier& torus, const std::vector<int>& box) {
  if (torus.block > 0) {
    const bool blocks = std::all_of(box.begin(), box.end(), [&](int d) { return d % torus.block == 0; });
    return std::vector<bool>(box.size(), blocks);
  }
  std::vector<bool> wraps(box.size());
  for (std::size_t i = 0; i < box.size(); ++i) wraps[i] = torus.wraps[i] && box[i] == torus.dims[i];
  return wraps;
}

// Better boxes first: more closed axes, then the shorter longest axis.
std::tuple<long, int> rank(const Tier& torus, const std::vector<int>& box) {
  const auto wraps = closed(torus, box);
  return {-std::count(wraps.begin(), wraps.end(), true), *std::max_element(box.begin(), box.end())};
}

void boxes(const Tier& torus, long long left, std::vector<int>& box, std::vector<int>& best) {
  const std::size_t axis = box.size();
  if (axis == torus.dims.size()) {
    if (left == 1 && (best.empty() || rank(torus, box) < rank(torus, best))) best = box;
    return;
  }
  for (int d = 1; d <= torus.dims[axis] && d <= left; ++d) {
    if (left % d != 0) continue;
    box.push_back(d);
    boxes(torus, left / d, box, best);
    box.pop_back();
  }
}

}  // namespace

Network slice_for(const Network& network, long long accelerators) {
  Network n = network;
  if (n.tiers.empty() || n.tiers[0].topology != Tier::Topology::torus || accelerators < 1) return n;
  Tier& torus = n.tiers[0];
  if (accelerators >= torus.size) return n;
  std::vector<int> box, best;
  boxes(torus, accelerators, box, best);
  if (best.empty()) return n;
  torus.wraps = closed(torus, best);
  torus.dims = best;
  torus.size = accelerators;
  return n;
}

}  // namespace napkin
