#include "model/validation/summary.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "calibrate/samples/collective_sample.hpp"

namespace napkin::validation {
namespace {

using Rows = std::vector<const Replay*>;

bool predicted(const Replay& r) { return r.refused.empty(); }

// L1: Σ|(Tᵢ + (c − 1)tᵢ)/mᵢ − 1| is least where c is the median of (mᵢ − Tᵢ)/tᵢ + 1 weighted by tᵢ/mᵢ.
std::vector<TermScale> explain(const Rows& rows) {
  constexpr std::size_t fewest = 3, shown = 3;
  constexpr double most_scale = 4;  // a term that would have to grow more is no explanation
  std::vector<TermScale> scales;
  std::size_t timed = 0;
  for (const Replay* r : rows) timed += at(r->error, Metric::step_time).has_value();
  if (timed < fewest) return scales;
  for (std::size_t t = 0; t < term_count; ++t) {
    std::vector<std::pair<double, double>> breaks;
    for (const Replay* r : rows) {
      if (!at(r->error, Metric::step_time) || r->terms[t] <= 0) continue;
      const double measured = *at(r->measured.figures, Metric::step_time), whole = *at(r->predicted, Metric::step_time);
      breaks.emplace_back(1 + (measured - whole) / r->terms[t], r->terms[t] / measured);
    }
    if (breaks.size() < fewest) continue;
    const double scale = std::clamp(weighted_median(breaks), 0.0, most_scale);
    std::vector<double> left;
    for (const Replay* r : rows) {
      if (!at(r->error, Metric::step_time)) continue;
      const double measured = *at(r->measured.figures, Metric::step_time), whole = *at(r->predicted, Metric::step_time);
      left.push_back((whole + (scale - 1) * r->terms[t]) / measured - 1);
    }
    scales.push_back({static_cast<Term>(t), scale, summarise(left).median_abs});
  }
  std::stable_sort(scales.begin(), scales.end(),
                   [](const TermScale& a, const TermScale& b) { return a.median_abs < b.median_abs; });
  if (scales.size() > shown) scales.resize(shown);
  return scales;
}

ClassSummary summarise_class(const Rows& rows) {
  ClassSummary s;
  s.rows = rows.size();
  std::array<std::vector<double>, metric_count> errors;
  std::vector<double> by_rank;
  for (const Replay* r : rows) {
    s.refused += !predicted(*r);
    for (std::size_t i = 0; i < metric_count; ++i)
      if (r->error[i]) errors[i].push_back(*r->error[i]);
    by_rank.insert(by_rank.end(), r->error_by_rank.begin(), r->error_by_rank.end());
  }
  for (std::size_t i = 0; i < metric_count; ++i) s.metrics[i] = summarise(errors[i]);
  s.allocated_by_rank = summarise(by_rank);
  s.explained = explain(rows);
  std::vector<double> doublings, drift;
  for (const Replay* r : rows)
    if (const auto& e = at(r->error, Metric::step_time)) {
      doublings.push_back(std::log2(r->run.gpus));
      drift.push_back(*e);
    }
  constexpr std::size_t fewest = 3;
  const auto [least, most] = std::minmax_element(doublings.begin(), doublings.end());
  constexpr double doublings_needed = 2;
  if (drift.size() >= fewest && *most - *least >= doublings_needed) s.per_doubling = slope(doublings, drift);
  return s;
}

template <class Key>
std::map<std::string, ClassSummary> classes(const Rows& rows, Key key) {
  std::map<std::string, Rows> split;
  for (const Replay* r : rows) split[key(*r)].push_back(r);
  std::map<std::string, ClassSummary> out;
  for (const auto& [name, members] : split) out[name] = summarise_class(members);
  return out;
}

FitSummary summarise_fit(const Rows& rows) {
  FitSummary f;
  for (const Replay* r : rows) {
    if (!predicted(*r) || !r->measured.out_of_memory) continue;
    const bool out = *r->measured.out_of_memory, says = r->predicts_out_of_memory();
    ++f.n;
    f.measured_out += out;
    f.caught += out && says;
    f.false_fits += out && !says;
    f.false_ooms += !out && says;
    if (r->usage >= band_from && r->usage <= band_to) {
      ++f.band;
      f.band_right += out == says;
    }
  }
  return f;
}

// One cluster state of one configuration; `out` are the rows that ran out of memory.
GroupSummary summarise_group(const Rows& ran, const Rows& out) {
  GroupSummary g;
  g.ran = ran.size();
  g.n = ran.size() + out.size();
  const auto rate = [](const Replay* r) { return *at(r->measured.figures, Metric::tokens_per_s_per_gpu); };
  const auto promise = [](const Replay* r) { return *at(r->predicted, Metric::tokens_per_s_per_gpu); };
  std::vector<double> x, y;
  for (const Replay* r : ran) {
    x.push_back(promise(r));
    y.push_back(rate(r));
  }
  g.spearman = spearman(x, y);
  const auto slower = [&](const Replay* a, const Replay* b) { return rate(a) < rate(b); };
  const Replay* best = *std::max_element(ran.begin(), ran.end(), slower);
  const Replay* pick = nullptr;  // keeps the margin that `plan` keeps
  for (const Rows* rows : {&ran, &out})
    for (const Replay* r : *rows)
      if (r->usage <= fits_below && (pick == nullptr || promise(r) > promise(pick))) pick = r;
  g.best = best->run.id;
  g.picked_out_of_memory = pick != nullptr && pick->measured.out_of_memory.value_or(false);
  g.regret = pick == nullptr || g.picked_out_of_memory ? 1 : 1 - rate(pick) / rate(best);
  if (pick != nullptr) g.picked = pick->run.id;
  return g;
}

std::vector<GroupSummary> summarise_groups(const Rows& rows) {
  struct Members {
    std::map<std::string, Rows> ran;  // by cluster state
    Rows out;
    const Replay* first = nullptr;
  };
  std::map<std::string, Members> configurations;
  for (const Replay* r : rows) {
    if (!predicted(*r)) continue;
    const bool out = r->measured.out_of_memory.value_or(false);
    if (!out && !at(r->measured.figures, Metric::tokens_per_s_per_gpu)) continue;
    Members& m = configurations[r->run.configuration];
    if (m.first == nullptr) m.first = r;
    if (out) m.out.push_back(r);
    else m.ran[r->run.cluster_state].push_back(r);
  }
  std::vector<GroupSummary> groups;
  for (const auto& [key, m] : configurations)
    for (const auto& [state, ran] : m.ran) {
      if (ran.size() + m.out.size() < smallest_group) continue;
      GroupSummary g = summarise_group(ran, m.out);
      g.name = m.first->run.title;
      g.cluster_state = state;
      groups.push_back(std::move(g));
    }
  std::stable_sort(groups.begin(), groups.end(), [](const GroupSummary& a, const GroupSummary& b) {
    return a.regret.value_or(0) > b.regret.value_or(0);
  });
  return groups;
}

std::vector<CollectiveClass> summarise_collectives(const std::vector<Replay>& rows) {
  std::map<std::tuple<std::string, std::string, int, std::size_t>, std::vector<double>> classes;
  for (const Replay& r : rows) {
    if (r.run.suspect || r.run.message <= 0) continue;
    const auto operation = fit::collective_operation(r.run.kind);
    for (const PartTime& part : r.parts)
      classes[{r.run.hardware, operation ? std::string(to_string(*operation)) : r.run.kind, static_cast<int>(r.run.gpus),
               fit::size_class(r.run.message)}]
          .push_back(part.error());
  }
  std::vector<CollectiveClass> out;
  for (const auto& [key, errors] : classes) {
    const auto& [hardware, operation, ranks, size] = key;
    out.push_back({hardware, operation, std::string(fit::size_classes[size]), ranks, summarise(errors)});
  }
  return out;
}

}  // namespace

std::string reason_class(const std::string& reason) {
  std::string out;
  for (std::size_t i = 0; i < reason.size();) {
    const auto digit = [&](std::size_t k) { return k < reason.size() && std::isdigit(static_cast<unsigned char>(reason[k])) != 0; };
    const bool in_word = i > 0 && (std::isalnum(static_cast<unsigned char>(reason[i - 1])) != 0 || reason[i - 1] == '_' || reason[i - 1] == '-');
    if (!digit(i) || in_word) {
      out += reason[i++];
      continue;
    }
    out += 'N';
    while (digit(i) || ((reason[i] == ',' || reason[i] == '.') && digit(i + 1))) ++i;
  }
  return out;
}

const std::vector<Dimension>& dimensions() {
  static const std::vector<Dimension> known{
      {"framework", [](const Replay& r) { return r.run.framework; }},
      {"hardware", [](const Replay& r) { return r.run.hardware; }},
      {"precision", [](const Replay& r) { return r.run.precision; }},
      {"task", [](const Replay& r) { return r.run.task; }},
      {"family", [](const Replay& r) { return r.run.family; }},
      {"cluster_state", [](const Replay& r) { return r.run.cluster_state; }},
      {"source", [](const Replay& r) { return r.run.source; }},
      {"class", [](const Replay& r) { return class_of(r.run); }},
  };
  return known;
}

const std::map<std::string, ClassSummary>& by(const Summary& s, std::string_view dimension) {
  const auto& known = dimensions();
  const auto at = std::find_if(known.begin(), known.end(), [&](const Dimension& d) { return d.name == dimension; });
  if (at == known.end()) throw std::logic_error("runs are not broken down by " + std::string(dimension));
  return s.by[static_cast<std::size_t>(at - known.begin())];
}

std::string class_of(const Description& d) { return d.framework + " / " + d.hardware + " / " + d.precision; }

Summary summarise(const std::vector<Replay>& rows) {
  Summary s;
  Rows kept, suspect;
  for (const Replay& r : rows) {
    ++s.rows;
    if (!predicted(r)) {
      ++s.refused;
      ++s.reasons[reason_class(r.refused)];
    }
    if (r.run.kind == "run") (r.run.suspect ? suspect : kept).push_back(&r);
  }
  s.all = summarise_class(kept);
  s.suspect = summarise_class(suspect);
  for (const Dimension& d : dimensions()) s.by.push_back(classes(kept, d.value));
  std::map<std::string, std::vector<double>> times;
  for (const Replay& r : rows) {
    if (r.run.suspect) continue;
    if (const auto& e = at(r.error, Metric::step_time)) times[r.run.kind].push_back(*e);
    for (const PartTime& part : r.parts) times[r.run.kind].push_back(part.error());
    if (r.run.kind == "decode" || r.run.kind == "prefill")
      for (const PartTime& part : r.parts) times["serving"].push_back(part.error());
  }
  for (const auto& [kind, errors] : times) s.by_kind[kind] = summarise(errors);
  s.fit = summarise_fit(kept);
  s.groups = summarise_groups(kept);
  s.collectives = summarise_collectives(rows);
  return s;
}

}  // namespace napkin::validation
