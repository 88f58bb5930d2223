#include "model/search/fixes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "model/input_error.hpp"
#include "model/search/rules.hpp"

namespace napkin {
namespace {

struct Variant {
  Job job;
  std::shared_ptr<const Profile> profile;  // null: the job's own
  Layout layout;
};

enum class Knob : std::uint8_t {
  recompute, micro_batch, sequence_parallel, zero, tp, cp, ep, pp, chunks, offload, moments, gradients, gpus, sequence
};

// One turn of a knob. `apply` says false where it changes nothing or cannot be done.
struct Change {
  Knob knob{};
  std::string words;
  bool same_training = true;
  std::function<bool(Variant&)> apply;
};

std::string number(std::int64_t v) { return std::to_string(v); }

// What follows from new degrees: replicas, and what may no longer hold over them.
bool settle(Variant& v) {
  Layout& l = v.layout;
  const std::int64_t replica = static_cast<std::int64_t>(l.tp) * l.cp * l.pp;
  if (v.job.gpus % replica != 0) return false;
  l.dp = v.job.gpus / replica;
  if (l.dp * l.cp == 1) l.zero = 0;
  if (l.zero == 0) l.zero_group = 0;
  l.zero_group = std::min(l.zero_group, l.dp * l.cp);
  return l.zero_group == 0 || l.dp * l.cp % l.zero_group == 0;
}

void degrees(std::vector<Change>& out, Knob knob, const char* name, int Layout::*axis, int from, std::int64_t at_most) {
  for (std::int64_t n = 2LL * from; n <= at_most && n <= 16LL * from; n *= 2)
    out.push_back({knob, std::string(name) + " " + number(from) + " → " + number(n), true, [=](Variant& v) {
                     Layout& l = v.layout;
                     if (knob == Knob::tp) {
                       if (l.etp == l.tp && l.etp > 1) l.etp = static_cast<int>(n);
                       if (l.tp == 1) l.sp = v.job.profile->sequence_parallel;
                     }
                     l.*axis = static_cast<int>(n);
                     return settle(v);
                   }});
}

// The state's bytes per parameter brought down to `bytes`.
Change narrower(Knob knob, std::string words, Constant<Scalar> BytePolicy::*state, double bytes, const char* source) {
  return {knob, std::move(words), false, [=](Variant& v) {
            auto p = std::make_shared<Profile>(*v.job.profile);
            Constant<Scalar>& width = p->bytes.*state;
            if (double(width.value) <= bytes) return false;
            width = {.value = bytes, .place = source, .source = nullptr};
            v.profile = std::move(p);
            v.job.profile = v.profile.get();
            return true;
          }};
}

std::vector<Change> changes_of(const Job& job, const Layout& l) {
  std::vector<Change> out;
  for (const Recompute r : {Recompute::selective, Recompute::full})
    if (r > l.recompute)
      out.push_back({Knob::recompute, "recompute " + std::string(to_string(r)), true, [=](Variant& v) {
                       v.layout.recompute = r;
                       v.layout.modules = 0;
                       return true;
                     }});
  for (const std::int64_t n : divisors(l.micro_batch, l.micro_batch - 1))
    out.push_back({Knob::micro_batch, "micro-batch " + number(l.micro_batch) + " → " + number(n), true, [=](Variant& v) {
                     v.layout.micro_batch = static_cast<int>(n);
                     return true;
                   }});
  if (l.tp > 1 && !l.sp)
    out.push_back({Knob::sequence_parallel, "sequence parallelism on", true, [](Variant& v) { return v.layout.sp = true; }});
  for (int z = l.zero + 1; z <= job.profile->max_zero; ++z)
    out.push_back({Knob::zero, "ZeRO " + number(l.zero) + " → " + number(z), true, [=](Variant& v) {
                     v.layout.zero = z;
                     return settle(v);
                   }});
  if (l.zero_group > 0 && l.zero_group < l.dp * l.cp)
    out.push_back({Knob::zero, "ZeRO over all " + number(l.dp * l.cp) + " replicas", true, [](Variant& v) {
                     v.layout.zero_group = 0;
                     return true;
                   }});
  degrees(out, Knob::tp, "tp", &Layout::tp, l.tp, job.hardware->network.node_size);
  degrees(out, Knob::cp, "cp", &Layout::cp, l.cp, job.gpus);
  degrees(out, Knob::ep, "ep", &Layout::ep, l.ep, job.gpus);
  degrees(out, Knob::pp, "pp", &Layout::pp, l.pp, job.gpus);
  if (l.vpp > 1 && l.schedule == Schedule::interleaved)
    out.push_back({Knob::chunks, "no interleaving (vpp 1)", true, [](Variant& v) {
                     v.layout.vpp = 1;
                     v.layout.schedule = Schedule::one_f_one_b;
                     return true;
                   }});
  if (job.hardware->accelerator.host_bandwidth.value > BytesPerSecond{}) {
    const auto depth = static_cast<std::int64_t>(job.model->depth()) / l.pp;
    for (const std::int64_t part : {4, 2, 1})
      if (const std::int64_t n = depth / part; n > l.offloaded_layers)
        out.push_back({Knob::offload, "activations of " + number(n) + " layers of a stage to host memory", true, [=](Variant& v) {
                         v.layout.offloaded_layers = static_cast<int>(n);
                         return true;
                       }});
  }
  out.push_back(narrower(Knob::moments, "8-bit Adam moments (2 B a parameter)", &BytePolicy::moments, 2, "dettmers2022adam8bit"));
  out.push_back(narrower(Knob::gradients, "gradients in 2 B a parameter", &BytePolicy::gradient, 2, "16-bit accumulation"));
  if (job.hardware->network.tiers.empty() || job.hardware->network.tiers.front().topology != Tier::Topology::torus)
    for (const std::int64_t times : {2, 4, 8})
      out.push_back({Knob::gpus, number(times * job.gpus) + " GPUs", true, [=](Variant& v) {
                       v.job.gpus *= times;
                       return settle(v);
                     }});
  for (const std::int64_t part : {2, 4})
    if (job.sequence % part == 0 && job.sequence > part)
      out.push_back({Knob::sequence, "sequences of " + number(job.sequence / part) + " tokens, " + number(part) + " × as many",
                     false, [=](Variant& v) {
                       v.job.sequence /= part;
                       v.job.batch *= part;
                       return true;
                     }});
  return out;
}

double gpu_seconds_per_token(const Job& job, const StepCost<Plain>& cost) {
  return cost.time.si() * static_cast<double>(job.gpus) / (static_cast<double>(job.batch) * static_cast<double>(job.sequence));
}

// The step of a variant, unless a rule or its schedule forbids it.
std::optional<StepCost<Plain>> evaluated(const Variant& v, Timing timing) {
  if (broken_rule(v.job, v.layout) != nullptr) return {};
  try {
    return Evaluator<Plain>(v.job, Scope<Plain>()).evaluate(v.layout, timing);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

std::vector<Fix> fixes(const FixProblem& problem) {
  const Variant base{.job = problem.job, .profile = nullptr, .layout = problem.layout};
  const auto now = evaluated(base, Timing::exact);
  if (!now || now->memory.device <= problem.limit) return {};
  const double spent = gpu_seconds_per_token(problem.job, *now);
  const std::vector<Change> list = changes_of(problem.job, problem.layout);

  // 1. Each change alone, then the pairs of those that are not enough; the cheapest of each knob or pair of knobs.
  std::map<std::pair<Knob, Knob>, Fix> best;
  const auto consider = [&](const Change& a, const Change* b) {
    Variant v = base;
    if (!a.apply(v) || (b != nullptr && !b->apply(v))) return false;
    const auto cost = evaluated(v, Timing::quick);
    if (!cost || cost->memory.device > problem.limit) return false;
    Fix f{.changes = {a.words}, .same_training = a.same_training, .job = v.job, .profile = v.profile, .layout = v.layout,
          .cost = *cost, .slowdown = gpu_seconds_per_token(v.job, *cost) / spent - 1};
    if (b != nullptr) {
      f.changes.push_back(b->words);
      f.same_training = f.same_training && b->same_training;
    }
    const std::pair key{a.knob, b != nullptr ? b->knob : a.knob};
    const auto found = best.find(key);
    if (found == best.end() || f.slowdown < found->second.slowdown) best.insert_or_assign(key, std::move(f));
    return true;
  };
  std::vector<const Change*> short_of;
  for (const Change& c : list)
    if (!consider(c, nullptr)) short_of.push_back(&c);
  for (std::size_t i = 0; i < short_of.size(); ++i)
    for (std::size_t k = i + 1; k < short_of.size(); ++k)
      if (short_of[i]->knob != short_of[k]->knob) consider(*short_of[i], short_of[k]);

  // 2. The cheapest, timed exactly.
  std::vector<Fix> found;
  found.reserve(best.size());
  for (auto& [key, f] : best) found.push_back(std::move(f));
  const auto cheaper = [](const Fix& a, const Fix& b) {
    return std::tuple(!a.same_training, a.slowdown, a.changes) < std::tuple(!b.same_training, b.slowdown, b.changes);
  };
  std::sort(found.begin(), found.end(), cheaper);
  if (found.size() > 2 * problem.keep) found.resize(2 * problem.keep);
  for (Fix& f : found) {
    if (const auto exact = evaluated({f.job, f.profile, f.layout}, Timing::exact)) f.cost = *exact;
    f.slowdown = gpu_seconds_per_token(f.job, f.cost) / spent - 1;
  }
  std::sort(found.begin(), found.end(), cheaper);
  if (found.size() > problem.keep) found.resize(problem.keep);
  return found;
}

}  // namespace napkin
