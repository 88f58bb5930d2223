#include "model/search/pareto.hpp"

#include <algorithm>

namespace napkin {

Expense expense(const Job& job, const StepCost<Plain>& cost, std::optional<double> price) {
  const Accelerator& a = job.hardware->accelerator;
  Expense e{.gpus = job.gpus,
            .tokens = static_cast<double>(job.batch) * static_cast<double>(job.sequence),
            .time = cost.time,
            .headroom = a.capacity.value - cost.memory.device,
            .gpu_hours = static_cast<double>(job.gpus) * cost.time.si() / 3600,
            .dollars = {},
            .joules = {}};
  if (!price && a.price_per_hour) price = double(a.price_per_hour->value);
  if (price) e.dollars = *price * e.gpu_hours;
  if (a.power) e.joules = static_cast<double>(job.gpus) * a.power->value.si() * cost.time.si();
  return e;
}

bool dominates(const Expense& a, const Expense& b) {
  bool better = false;
  const auto no_worse = [&](double x, double y) {
    better |= x < y;
    return x <= y;
  };
  const auto known = [&](const std::optional<double>& x, const std::optional<double>& y) {
    return !x || !y || no_worse(*x / a.tokens, *y / b.tokens);
  };
  return no_worse(a.time.si() / a.tokens, b.time.si() / b.tokens) && no_worse(a.gpu_hours / a.tokens, b.gpu_hours / b.tokens) &&
         known(a.dollars, b.dollars) && known(a.joules, b.joules) && no_worse(-a.headroom.si(), -b.headroom.si()) && better;
}

std::vector<std::size_t> pareto_front(const std::vector<Expense>& all) {
  const auto same = [&](std::size_t i, std::size_t j) {
    const Expense &a = all[i], &b = all[j];
    return a.gpus == b.gpus && a.time / a.tokens == b.time / b.tokens && a.headroom == b.headroom && a.dollars == b.dollars;
  };
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool stays = true;
    for (std::size_t j = 0; j < all.size() && stays; ++j) stays = j == i || !(dominates(all[j], all[i]) || (j < i && same(j, i)));
    if (stays) front.push_back(i);
  }
  std::ranges::stable_sort(front, {}, [&](std::size_t i) { return all[i].time.si() / all[i].tokens; });
  return front;
}

}  // namespace napkin
