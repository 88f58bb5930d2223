#include "model/decision/goodput.hpp"

#include <algorithm>

#include "model/input_error.hpp"
#include "model/reliability/checkpoint.hpp"
#include "model/reliability/failures.hpp"
#include "model/step/layer_cost.hpp"
#include "model/text.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin {
namespace {

// A checkpoint holds what training changes: beside frozen weights the adapters alone (hu2022lora).
double trained_parameters(const Job& job) {
  if (!job.adapters.any()) return static_cast<double>(parameters(*job.model).total);
  const LayerKey whole = layer_key(job, Layout{});
  double sum = 0;
  for (std::size_t k = 0; k < job.model->kinds.size(); ++k)
    sum += static_cast<double>(std::count(job.model->layers.begin(), job.model->layers.end(), k)) *
           layer_cost(Scope<Plain>(), job, whole, job.model->kinds[k]).adapters.si();
  return sum;
}

template <class K>
Goodput<K> goodput_with(Scope<K> scope, const Job& job, SecondsT<K> step, BytesT<K> held, const Reliability& r) {
  const BytePolicy& bytes = job.profile->bytes;
  const auto gpus = scope.input("G", static_cast<double>(job.gpus), "job: accelerators");
  const auto per_node =
      scope.input("G_node", static_cast<double>(std::min<std::int64_t>(job.gpus, job.hardware->network.node_size)),
                  "hardware: accelerators of a node");
  const auto bandwidth = scope.read("B_node", r.node_bandwidth);
  Goodput<K> g;
  g.mttf = job_mttf(scope.read("M_unit", r.unit_mttf), gpus);
  const auto count = scope.input("P", trained_parameters(job), job.adapters.any() ? "parameters of the adapters" : "model: parameters");
  const auto each = let("b", scope.read("B_parameter", bytes.parameter) + scope.read("B_master", bytes.master) +
                                 scope.read("B_moments", bytes.moments));
  g.checkpoint = checkpoint_bytes(count, each * scope.input("byte", 1 * byte));
  g.write = let("delta", g.checkpoint / (gpus / per_node * bandwidth));
  g.load = let("T_load", per_node * held / bandwidth);
  g.restart = let("R", scope.read("R_0", r.restart) + g.load);
  g.interval = exact_interval(scope, g.write, g.mttf);
  g.goodput = exact_goodput(g.interval, g.write, g.restart, g.mttf);
  if (!(g.goodput.si() > 0) || !(g.interval.si() > 0))
    throw InputError("goodput: no progress between failures " + format(g.mttf) + " apart: a checkpoint takes " +
                     format(g.write) + ", restarting and loading " + format(g.restart));
  g.effective = let("T_effective", step / g.goodput);
  return g;
}

}  // namespace

Reliability usual_reliability() {
  constexpr const char* place = "model/decision/goodput.cpp";
  constexpr double hours = 50676;  // grattafiori2024, table 5: 54 days · 16,384 accelerators / 419
  const auto source = [](Evidence kind, const char* text) {
    return std::make_shared<const Source>(Source{kind, text});
  };
  return {.unit_mttf = {.value = hours * 3600 * second,
                        .place = place,
                        .source = source(Evidence::measured,
                                         "419 interruptions in 54 days on 16,384 H100 (Llama 3, table 5)")},
          .restart = {.value = 300 * second,
                      .place = place,
                      .source = source(Evidence::assumed, "detection, a spare node, start-up")},
          .node_bandwidth = {.value = 2 * GB / second,
                             .place = place,
                             .source = source(Evidence::assumed, "a node's share of a parallel file system")}};
}

template <class K>
Goodput<K> goodput_of(Scope<K> scope, const Job& job, const StepCost<K>& step, const Reliability& r) {
  return goodput_with(scope, job, step.time, let("held", step.memory.parameters + step.memory.optimizer + step.host_states), r);
}
template Goodput<Plain> goodput_of(Scope<Plain>, const Job&, const StepCost<Plain>&, const Reliability&);
template Goodput<Traced> goodput_of(Scope<Traced>, const Job&, const StepCost<Traced>&, const Reliability&);

EffectiveRanking rank_by_goodput(const Job& job, const std::vector<RankedLayout>& candidates,
                                 std::optional<Seconds> left_out, const Reliability& r, std::size_t keep) {
  EffectiveRanking ranking;
  for (const RankedLayout& c : candidates) ranking.best.push_back({c, goodput_of(Scope<Plain>(), job, c.cost, r)});
  std::stable_sort(ranking.best.begin(), ranking.best.end(), [](const EffectiveLayout& a, const EffectiveLayout& b) {
    return a.goodput.effective < b.goodput.effective;
  });
  if (!candidates.empty())
    ranking.proven = !left_out || goodput_with(Scope<Plain>(), job, *left_out, Bytes{}, r).effective >=
                                      ranking.best.front().goodput.effective;
  if (ranking.best.size() > keep) ranking.best.resize(keep);
  return ranking;
}

}  // namespace napkin
