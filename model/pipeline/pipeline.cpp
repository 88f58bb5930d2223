#include "model/pipeline/pipeline.hpp"

#include <algorithm>
#include <array>

namespace napkin {
namespace {

struct Name {
  std::string_view text;
  Schedule schedule;
};
// The first name of a schedule is the one printed.
constexpr std::array names{
    Name{"gpipe", Schedule::gpipe},
    Name{"afab", Schedule::gpipe},
    Name{"1f1b", Schedule::one_f_one_b},
    Name{"interleaved", Schedule::interleaved},
    Name{"interleaved-1f1b", Schedule::interleaved},
    Name{"zb-h1", Schedule::zb_h1},
    Name{"zb-h2", Schedule::zb_h2},
    Name{"zb-v", Schedule::zb_v},
    Name{"zbv", Schedule::zb_v},
    Name{"interleaved-zb", Schedule::zb_interleaved},
    Name{"zb-interleaved", Schedule::zb_interleaved},
    Name{"dualpipe", Schedule::dualpipe},
    Name{"dualpipe-v", Schedule::dualpipe_v},
    Name{"dualpipev", Schedule::dualpipe_v},
    Name{"looped-bfs", Schedule::looped_bfs},
};

}  // namespace

std::string_view to_string(Schedule s) {
  return std::ranges::find(names, s, &Name::schedule)->text;
}

std::optional<Schedule> schedule_named(std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &Name::text);
  if (found == names.end()) return std::nullopt;
  return found->schedule;
}

double micro_batches_in_flight(Schedule s, int pp, int vpp, int rank, std::int64_t micro_batches,
                               std::int64_t group) {
  const auto m = static_cast<double>(micro_batches);
  const double p = pp, v = vpp;
  const double n = std::min(group == 0 ? p : static_cast<double>(group), m);
  const auto held = [&] {
    switch (s) {
      case Schedule::gpipe:
      case Schedule::looped_bfs: return m;
      case Schedule::one_f_one_b: return p - rank;
      case Schedule::interleaved: return v == 1 ? p - rank : (2 * (p - rank - 1) + (v - 1) * n + 1) / v;
      case Schedule::zb_interleaved: return (p + (v - 1) * n) / v;
      case Schedule::zb_h1:
      case Schedule::zb_v: return p;
      case Schedule::zb_h2: return 2 * p - 1;
      case Schedule::dualpipe: return p + 1;
      case Schedule::dualpipe_v: return p + 0.5;
    }
    return m;
  };
  return std::min(held(), m);
}

namespace {

// What the ranks other than the slowest do of one micro-batch: how long a pipeline fills and drains.
template <class K>
struct Fill {
  SecondsT<K> forward, input, weight;  // F, I, W below
  [[nodiscard]] SecondsT<K> backward() const { return input + weight; }
  [[nodiscard]] SecondsT<K> all() const { return forward + backward(); }
};

template <class K>
Fill<K> fill_of(const StageTimes<K>& t) {
  const SecondsT<K> weight = let("W_fill", t.sum_weight - t.slowest_weight);
  return {let("F_fill", t.sum_forward - t.slowest_forward),
          let("I_fill", t.sum_backward - t.slowest_backward - weight), weight};
}
template <class K>
Fill<K> scaled(const Fill<K>& fill, Scalar by) {
  return {by * fill.forward, by * fill.input, by * fill.weight};
}

// A message that every micro-batch of a full pipeline waits for, `hops` in all, is hidden where ranks wait for the slowest
// one anyway: they do so for `slack` on average a micro-batch.
template <class K>
SecondsT<K> exposed(Scalar rounds, SecondsT<K> messages, SecondsT<K> slack) {
  return rounds * max(messages - slack, SecondsT<K>{});
}

template <class K>
struct Case {
  Scalar p, m, v, q;    // q = p − 1
  const StageTimes<K>& t;
  Fill<K> fill;
  SecondsT<K> slack;    // slowest − mean, of forward + backward

  SecondsT<K> hops(Scalar n) const { return n * t.p2p; }
};

// T = m·t + Σ others + 2(p − 1)·c. The slowest rank waits for the ranks before it to fill and drain, and for the ranks
// after it (A together, n of them) twice: until its first backward arrives, having n forwards to do meanwhile, and at the
// end, with n backwards to do: (A − n·F) + (A − n·B), which is A where the stages are uniform.
// No rank has a micro-batch to spare, so in the steady state too a round trip of p micro-batches pays 2(p − 1) messages:
// with N = m + p − 1 slots, N − ⌈N/p⌉ hops each way in all.
template <class K>
SecondsT<K> one_f_one_b(const Case<K>& c) {
  const Scalar slots = c.m + c.q, steady = slots - ceil(slots / c.p) - c.q, n = c.t.ranks_after;
  const SecondsT<K> none{}, after = c.t.sum_after;
  const SecondsT<K> waits = c.fill.all() - after + max(after - n * c.t.slowest_forward, none) +
                            max(after - n * c.t.slowest_backward, none);
  return let("bubble", waits + c.hops(2.0 * c.q) + exposed(steady / c.q, c.hops(2.0 * c.q), c.p * c.slack),
             "narayanan2021");
}

// All forward, all backward: with v chunks each next chunk can start when the first micro-batch has come round, which with
// fewer micro-batches than ranks (or slow messages) is after the chunk before has ended.
template <class K>
SecondsT<K> looped(const Case<K>& c) {
  const Fill<K> fill = scaled(c.fill, 1.0 / c.v);
  const auto come_round = [&](SecondsT<K> slowest, SecondsT<K> others) {
    return exposed(c.v - 1.0, others + c.hops(c.p), (c.m - 1.0) / c.v * slowest);
  };
  return let("bubble", fill.all() + c.hops(2.0 * c.q) + come_round(c.t.slowest_forward, fill.forward) +
                           come_round(c.t.slowest_backward, fill.backward()), "lamy-poirier2023");
}

template <class K>
SecondsT<K> interleaved(const Case<K>& c) {
  if (c.m < c.p) return choose("fewer micro-batches than stages: one group", looped(c));
  return let("bubble", c.fill.all() / c.v + c.hops(2.0 * (c.v * c.p - 1.0)), "narayanan2021");
}

// qi2024zerobubble: (p − 1)(F + I − W), its table's case; with I or F alone above that, they set the drain or the fill.
template <class K>
SecondsT<K> zb_h1(const Case<K>& c) {
  const auto& [f, i, w] = c.fill;
  return let("bubble", max(f + i - w + c.hops(4.0 * c.q), max(i + c.hops(2.0 * c.q), f + c.hops(3.0 * c.q))),
             "qi2024zerobubble");
}

// Without a synchronisation between steps (p − 1)(F + I − 2W); from the first start of the first rank to the last end of
// the last one there is always the fill, (p − 1)·F.
template <class K>
SecondsT<K> zb_h2(const Case<K>& c) {
  const auto& [f, i, w] = c.fill;
  return let("bubble", max(f + i - 2.0 * w + c.hops(2.0 * c.q), max(i - f + c.hops(2.0 * c.q), f + c.hops(c.q))),
             "qi2024zerobubble");
}

template <class K>
SecondsT<K> zb_interleaved(const Case<K>& c) {
  const auto& [f, i, w] = scaled(c.fill, 1.0 / c.v);
  const Scalar once = (c.v + 1.0) * c.p - 3.0;
  return let("bubble", max(f + i - w + c.hops(once + c.p), max(i + c.hops(once + 1.0), f + c.hops(once))) +
                           exposed(c.m, c.hops(c.v - 1.0), c.slack), "qi2024zerobubble");
}

// The longest of the paths through fill, steady state and drain (uniform stages: F, I, W of one chunk times p − 1).
template <class K>
SecondsT<K> zb_v(const Case<K>& c) {
  const Fill<K> half = scaled(c.fill, 0.5);
  const SecondsT<K> f = half.forward, i = half.input, w = half.weight;
  const SecondsT<K> f1 = f / c.q, i1 = i / c.q, w1 = w / c.q;  // one chunk
  const SecondsT<K> even = max(2.0 * f - i - w1 + c.hops(2.0 * c.p - 3.0), i + c.hops(4.0 * c.p - 6.0));
  const SecondsT<K> slow_forward = max(2.0 * f - f1 - (i - i1) + c.hops(2.0 * c.p - 4.0),
                                       2.0 * f - f1 + i1 - 2.0 * w + c.hops(3.0 * c.p - 5.0));
  const SecondsT<K> fast_weight = max(2.0 * (i - w) + c.hops(5.0 * c.p - 7.0), 2.0 * (f - w) - w1 + c.hops(3.0 * c.p - 4.0));
  const SecondsT<K> slow_weight = w - w1 + max(i1 + c.hops(c.m + 2.0 * c.p - 4.0), f1 + c.hops(c.m + 2.0 * c.p - 6.0));
  return let("bubble", max(max(even, slow_forward), max(fast_weight, slow_weight)) + exposed(c.m, c.hops(1), c.slack),
             "qi2024zerobubble");
}

// DualPipe's fill is that of half the ranks; its table has h(F&B + B − 3W) = h(F + 2I − W) without overlap, h = p/2 − 1,
// which is this at F = I = W. `f`, `i`, `w` are h times one stage, `f1` is one stage.
template <class K>
SecondsT<K> two_way(SecondsT<K> f, SecondsT<K> i, SecondsT<K> w, SecondsT<K> f1) {
  return max(max(f - f1 + i, f - f1 + 2.0 * i - w), max(2.0 * f, 2.0 * f + i - w));
}

template <class K>
PipelineTime<K> dualpipe(const Case<K>& c, Scalar lanes, Scalar h, const Fill<K>& half, SecondsT<K> f1, Scalar once) {
  const Scalar pairs = max(c.m * lanes - h - 3.0, 0.0);
  const SecondsT<K> odd = (2.0 * ceil(c.m / 2.0) - c.m) * (2.0 - lanes) * (c.t.slowest_forward + c.t.slowest_backward);
  const SecondsT<K> bubble =
      let("bubble", two_way(half.forward, half.input, half.weight, f1) + c.hops(once) + odd +
                        exposed(c.m * lanes / c.p, c.hops(c.q), c.p * c.slack / lanes), "deepseek-ai2024v3");
  return {{}, bubble, let("saved", pairs * c.t.pair_saving, "deepseek-ai2024v3")};
}

}  // namespace

template <class K>
PipelineTime<K> pipeline_time(Schedule s, int pp, int vpp, std::int64_t micro_batches, const StageTimes<K>& t) {
  const Scalar m = static_cast<double>(micro_batches), p = pp;
  const SecondsT<K> slowest = let("t_stage", t.slowest_forward + t.slowest_backward);
  const SecondsT<K> work = let("T_work", m * slowest);
  if (pp == 1) return {choose("one stage: no bubble", work), SecondsT<K>{}, SecondsT<K>{}};
  const Case<K> c{p, m, vpp, p - 1.0, t, fill_of(t), slowest - (t.sum_forward + t.sum_backward) / p};
  PipelineTime<K> r{};
  const SecondsT<K> one_forward = c.fill.forward / c.q;
  switch (s) {
    case Schedule::gpipe: r.bubble = let("bubble", c.fill.all() + c.hops(2.0 * c.q), "huang2019gpipe"); break;
    case Schedule::one_f_one_b: r.bubble = one_f_one_b(c); break;
    case Schedule::interleaved: r.bubble = vpp == 1 ? one_f_one_b(c) : interleaved(c); break;
    case Schedule::looped_bfs: r.bubble = looped(c); break;
    case Schedule::zb_h1: r.bubble = zb_h1(c); break;
    case Schedule::zb_h2: r.bubble = zb_h2(c); break;
    case Schedule::zb_interleaved: r.bubble = zb_interleaved(c); break;
    case Schedule::zb_v: r.bubble = zb_v(c); break;
    case Schedule::dualpipe: {
      const Scalar h = p / 2.0 - 1.0;
      r = dualpipe(c, 1.0, h, scaled(c.fill, h / c.q), one_forward, 1.5 * p - 3.0);
      break;
    }
    case Schedule::dualpipe_v:
      r = dualpipe(c, 2.0, c.q, scaled(c.fill, 0.5), 0.5 * one_forward, 2.0 * p - 4.0);
      break;
  }
  r.makespan = let("T_pipeline", work - r.saved + r.bubble);
  return r;
}

template PipelineTime<Plain> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Plain>&);
template PipelineTime<Traced> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Traced>&);

}  // namespace napkin
