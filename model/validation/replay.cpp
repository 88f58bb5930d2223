#include "model/validation/replay.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace napkin::validation {
namespace {

// Bytes of the stage that was measured; of the stage with most of them where it was the most of any rank.
template <class Get>
double bytes_of(const Prediction<Plain>& p, MemoryOf of, Get get) {
  if (of == MemoryOf::first_stage) return get(p.stages.front()).si();
  if (of == MemoryOf::last_stage) return get(p.stages.back()).si();
  Bytes most{};
  for (const StageMemory<Plain>& m : p.stages) most = max(most, get(m));
  return most.si();
}

Figures figures(const Prediction<Plain>& p, MemoryOf of) {
  using Memory = StageMemory<Plain>;
  Figures f;
  at(f, Metric::step_time) = p.step.time.si();
  at(f, Metric::tokens_per_s_per_gpu) = p.tokens_per_gpu.si();
  at(f, Metric::tflops_per_gpu) = double(p.model_rate / (TFLOP / second));
  at(f, Metric::mfu) = double(p.mfu);
  at(f, Metric::allocated) = bytes_of(p, of, [](const Memory& m) { return m.allocated; });
  at(f, Metric::reserved) = bytes_of(p, of, [](const Memory& m) { return m.reserved; });
  at(f, Metric::static_states) = bytes_of(p, of, [](const Memory& m) { return m.standing; });
  at(f, Metric::forward) = p.step.phases.forward.si();
  at(f, Metric::backward) = p.step.phases.backward.si();
  at(f, Metric::optimizer) = p.step.phases.optimizer.si();
  return f;
}

std::string_view family_of(const Architecture& a) {
  bool experts = false, recurrent = false;
  for (const LayerKind& k : a.kinds) {
    experts = experts || k.ffn.moe;
    recurrent = recurrent || k.mamba || k.linear;
  }
  return recurrent ? "hybrid" : experts ? "moe" : "dense";
}

// Allocated bytes of each pipeline rank.
std::vector<double> allocated_by_rank(const Prediction<Plain>& p) {
  std::vector<double> v;
  for (std::size_t i = 0; i < p.stages.size(); ++i)
    v.insert(v.end(), static_cast<std::size_t>(p.ranks[i].count), p.stages[i].allocated.si());
  return v;
}

}  // namespace

std::string_view to_string(MemoryOf m) {
  constexpr std::array<std::string_view, 3> names{"max", "first_stage", "last_stage"};
  return names[static_cast<std::size_t>(m)];
}

void derive(Measurement& m, const Job& job, const Prediction<Plain>& p) {
  auto& time = at(m.figures, Metric::step_time);
  auto& rate = at(m.figures, Metric::tokens_per_s_per_gpu);
  const double tokens = static_cast<double>(job.batch) * static_cast<double>(job.sequence) / static_cast<double>(job.gpus);
  const auto mark = [&](Metric metric) { m.derived[static_cast<std::size_t>(metric)] = true; };
  if (!time && !rate && m.convention_given) {
    // chowdhery2022palm §4.1: model FLOP/s = FLOP per token × tokens per second.
    const auto& flops = at(m.figures, Metric::tflops_per_gpu);
    const auto& mfu = at(m.figures, Metric::mfu);
    if (flops) rate = *flops * 1e12 / p.token_flops.total.si();
    else if (mfu) rate = *mfu * p.peak.si() / p.token_flops.total.si();
    if (rate) mark(Metric::tokens_per_s_per_gpu);
  }
  if (time && !rate) {
    rate = tokens / *time;
    mark(Metric::tokens_per_s_per_gpu);
  } else if (rate && !time) {
    time = tokens / *rate;
    mark(Metric::step_time);
  }
}

void compare(Replay& r, const Run& run, const Prediction<Plain>& p) {
  derive(r.measured, run.job, p);
  r.run.family = family_of(*run.model);
  r.run.workload = workload_kind(run.job);
  r.run.hardware = run.hardware->accelerator.name;
  r.run.precision = run.job.precision.name;
  r.run.gpus = static_cast<double>(run.job.gpus);
  r.predicted = figures(p, r.measured.memory_of);
  r.layout = describe(run.layout);
  r.verdict = verdict(p.step.memory.device, run.hardware->accelerator.capacity.value);
  r.usage = double(p.step.memory.device / run.hardware->accelerator.capacity.value);
  for (std::size_t t = 0; t < term_count; ++t) r.terms[t] = p.step.terms[t].si();
  if (!(std::isfinite(r.usage) && r.usage > 0)) throw std::domain_error("the predicted memory is not a finite number");
  for (std::size_t i = 0; i < metric_count; ++i) {
    const double predicted = *r.predicted[i];
    if (!std::isfinite(predicted) || predicted < 0)
      throw std::domain_error("the predicted " + std::string(metric_names[i]) + " is not a finite number");
    // What a printed TFLOP/s or MFU counts is not guessed.
    const auto metric = static_cast<Metric>(i);
    const bool counts_flops = metric == Metric::tflops_per_gpu || metric == Metric::mfu;
    if (const auto& measured = r.measured.figures[i]; measured && (!counts_flops || r.measured.convention_given))
      r.error[i] = predicted / *measured - 1;
  }
  if (!r.measured.allocated_by_rank.empty()) {
    r.predicted_by_rank = allocated_by_rank(p);
    const std::size_t n = std::min(r.predicted_by_rank.size(), r.measured.allocated_by_rank.size());
    if (r.predicted_by_rank.size() == r.measured.allocated_by_rank.size())
      for (std::size_t i = 0; i < n; ++i) r.error_by_rank.push_back(r.predicted_by_rank[i] / r.measured.allocated_by_rank[i] - 1);
  }
}

}  // namespace napkin::validation
