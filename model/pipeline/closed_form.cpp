// How long a schedule takes, without running it. Every form is m·t plus a bubble; a bubble is the longest of the paths that
// lead through the schedule, each counted in forwards, input gradients, weight gradients and messages of one stage. The
// counts were read off the simulation's longest paths and are held against it by tests/unit/closed_form_test.cpp.
#include <algorithm>

#include "model/pipeline/pipeline.hpp"

namespace napkin {
namespace {

// One chunk of an average rank other than the slowest: F, I, W below. q = p − 1.
template <class K>
struct Case {
  const StageTimes<K>& t;
  Scalar p, m, v, q;
  SecondsT<K> forward, input, weight;
  SecondsT<K> slack;  // slowest − mean over all ranks, of forward + backward

  Case(int pp, int chunks, std::int64_t micro_batches, const StageTimes<K>& times)
      : t(times), p(pp), m(static_cast<double>(micro_batches)), v(chunks), q(p - 1.0) {
    const Scalar others = q * v;
    forward = let("F", (t.sum_forward - t.slowest_forward) / others);
    const SecondsT<K> backward = let("B", (t.sum_backward - t.slowest_backward) / others);
    weight = t.slowest_weight.si() == 0 ? SecondsT<K>{} : let("W", backward * t.slowest_weight / t.slowest_backward);
    input = let("I", backward - weight);
    slack = let("slack", t.slowest_forward + t.slowest_backward - (t.sum_forward + t.sum_backward) / p);
  }
  [[nodiscard]] SecondsT<K> path(Scalar f, Scalar i, Scalar w, Scalar messages) const {
    return f * forward + i * input + w * weight + messages * t.p2p;
  }
  // Messages that a full pipeline waits for again and again, in `rounds` rounds. Hidden as far as ranks wait for the slowest
  // one anyway, `idle` a round.
  [[nodiscard]] SecondsT<K> repeated(Scalar rounds, Scalar messages, SecondsT<K> idle) const {
    return rounds * max(messages * t.p2p - idle, SecondsT<K>{});
  }
};

template <class Q>
Q longest(Q a) {
  return a;
}
template <class Q, class... More>
Q longest(Q a, More... more) {
  return max(a, longest(more...));
}

// huang2019gpipe: (p − 1)(F + B).
template <class K>
SecondsT<K> gpipe(const Case<K>& c) {
  return let("bubble", c.path(c.q, c.q, c.q, 2.0 * c.q), "huang2019gpipe");
}

// narayanan2021: (p − 1)(F + B). The slowest rank waits for the ranks before it to fill and drain, and for the ranks after it
// (A together, n of them) twice: until its first backward arrives, having n forwards to do meanwhile, and at the end, with
// n backwards to do: (A − n·F) + (A − n·B), which is A where the stages are uniform.
// No rank has a micro-batch to spare, so a round trip of p micro-batches pays 2(p − 1) messages in the steady state too:
// with N = m + p − 1 slots, N − ⌈N/p⌉ hops each way in all.
template <class K>
SecondsT<K> one_f_one_b(const Case<K>& c) {
  const Scalar slots = c.m + c.q, steady = slots - ceil(slots / c.p) - c.q, n = c.t.ranks_after;
  const SecondsT<K> none{}, after = c.t.sum_after;
  const SecondsT<K> waits = c.path(c.q, c.q, c.q, 2.0 * c.q) - after +
                            max(after - n * c.t.slowest_forward, none) + max(after - n * c.t.slowest_backward, none);
  return let("bubble", waits + c.repeated(steady / c.q, 2.0 * c.q, c.p * c.slack), "narayanan2021");
}

// lamy-poirier2023: (p − 1)(F + B) of one chunk. The next chunk starts when the first micro-batch has come round, which with
// fewer micro-batches than ranks (or slow messages) is after the chunk before has ended.
template <class K>
SecondsT<K> looped(const Case<K>& c) {
  const SecondsT<K> none{};
  const SecondsT<K> forward_wait = max(c.path(c.q, 0, 0, c.p) - (c.m - 1.0) / c.v * c.t.slowest_forward, none);
  const SecondsT<K> backward_wait = max(c.path(0, c.q, c.q, c.p) - (c.m - 1.0) / c.v * c.t.slowest_backward, none);
  return let("bubble", c.path(c.q, c.q, c.q, 2.0 * c.q) + (c.v - 1.0) * (forward_wait + backward_wait),
             "lamy-poirier2023");
}

// narayanan2021: (p − 1)(F + B) of one chunk; one micro-batch crosses v·p stages.
template <class K>
SecondsT<K> interleaved(const Case<K>& c) {
  if (c.m < c.p) return choose("fewer micro-batches than stages: one group", looped(c));
  return let("bubble", c.path(c.q, c.q, c.q, 2.0 * (c.v * c.p - 1.0)), "narayanan2021");
}

// qi2024zerobubble: (p − 1)(F + I − W). Where F or I exceeds that, it sets the pace of the fill or of the drain; with few
// micro-batches there are fewer weight gradients to fill with.
template <class K>
SecondsT<K> zb_h1_paths(const Case<K>& c) {
  const Scalar few = max(c.p - c.m, 0.0);
  return longest(c.path(c.q, c.q, -1.0 * min(c.m - 1.0, c.q), 4.0 * c.q), c.path(few, c.q, 0, 2.0 * c.q),
                 c.path(c.q, few, 0, 3.0 * c.q));
}
template <class K>
SecondsT<K> zb_h1(const Case<K>& c) {
  return let("bubble", zb_h1_paths(c), "qi2024zerobubble");
}

// qi2024zerobubble: (p − 1)(F + I − 2W) on a rank's own clock; from the first start of the first rank to the last end of the
// last one there is always the fill, (p − 1)·F. Fewer than 2p − 1 micro-batches leave some of the backward's way uncovered.
template <class K>
SecondsT<K> zb_h2(const Case<K>& c) {
  const bool even = std::fmod(c.m.si(), 2) == 0;
  const Scalar uncovered = max(c.q - ceil((c.m - 1.0) / 2.0), 0.0), half = even && c.m <= 2.0 * c.q ? 1 : 0;
  return let("bubble",
             longest(c.path(c.q, c.q, -1.0 * min(c.m - 1.0, 2.0 * c.q), 2.0 * c.q), c.path(-1.0 * c.q, c.q, 0, 2.0 * c.q),
                     c.path(c.q, uncovered, 0, c.q), c.path(c.q, uncovered + half, -1.0 * half, c.q),
                     c.path(c.q - half, uncovered + half, 0, c.q)),
             "qi2024zerobubble");
}

// ZB-H1 in units of chunks; a message a micro-batch and chunk is waited for in the steady state.
template <class K>
SecondsT<K> zb_interleaved(const Case<K>& c) {
  const Scalar once = (c.v + 1.0) * c.p - 3.0, few = max(c.p - c.m, 0.0);
  const SecondsT<K> paths =
      c.m < c.p ? choose("fewer micro-batches than stages: a chunk waits for the one before to come round",
                         zb_h1_paths(c) + (c.v - 1.0) * (c.path(few, 0, 0, c.p) +
                                                         max(c.path(0, few, -1.0 * c.m, c.p), SecondsT<K>{})))
                : longest(c.path(c.q, c.q, -1.0 * c.q, once + c.p), c.path(0, c.q, 0, once + 1.0),
                          c.path(c.q, 0, 0, once)) +
                      c.repeated(c.m, c.v - 1.0, c.slack);
  return let("bubble", paths, "qi2024zerobubble");
}

// Zero on a rank's own clock where F = I = W; from the first start to the last end there is the fill. Two chunks a rank.
template <class K>
SecondsT<K> zb_v(const Case<K>& c) {
  const Scalar one = 1, late = max(c.m - c.p, 0.0), few = max(c.p - c.m, 0.0), m = c.m, p = c.p, q = c.q;
  const SecondsT<K> turn = c.path(2.0 * few, 2.0 * q, -2.0 * min(late, q), 5.0 * p - 7.0);
  if (c.m <= c.p) {
    return let("bubble",
               choose("no more micro-batches than stages: no steady state",
                      longest(turn, c.path(2.0 * p - 1.0 - m, 2.0 * p - 1.0 - m, 0, 2.0 * q))),
               "qi2024zerobubble");
  }
  const SecondsT<K> paths =
      longest(turn, c.path(0, q, 0, 4.0 * p - 6.0), c.path(2.0 * q, -1.0 * q, -1.0 * one, 2.0 * p - 3.0),
              c.path(2.0 * p - 3.0, 2.0 - p, 0, 2.0 * p - 4.0), c.path(2.0 * p - 3.0, one, -2.0 * q, 3.0 * p - 5.0),
              c.path(2.0 * q, 0, 1.0 - 2.0 * p, 3.0 * p - 4.0), c.path(0, one, p - 2.0, m + 2.0 * p - 4.0),
              c.path(one, 0, p - 2.0, m + 2.0 * p - 6.0));
  return let("bubble", paths + c.repeated(m, one, c.slack), "qi2024zerobubble");
}

// deepseek-ai2024v3 has h(F&B + B − 3W) = h(F + 2I − W) where pairs save nothing, h = P/2 − 1; the same as the paths below
// where F = I = W. `depth` stages in a row (P), `entries` micro-batches that a rank starts, each with one of its two stages:
// p and m in DualPipe, 2p and 2m in DualPipeV.
template <class K>
PipelineTime<K> two_way(const Case<K>& c, Scalar depth, Scalar entries, Scalar once) {
  const Scalar h = depth / 2.0 - 1.0, both = depth - 1.0 - entries / 2.0;
  const Scalar weights = max(h + 2.0 - (entries - depth), -1.0 * h);
  const SecondsT<K> paths =
      entries <= depth
          ? choose("no more micro-batches than stages: no steady state",
                   longest(c.path(depth - entries, 2.0 * h, h, once), c.path(both, both, h, once)))
          : longest(c.path(h - 1.0, h, 0, once), c.path(h - 1.0, 2.0 * h, -1.0 * h, once), c.path(2.0 * h, 0, 0, once),
                    c.path(2.0 * h, h, weights, once)) +
                c.repeated(entries / depth, depth - depth / c.p, c.p * c.slack);
  return {{}, let("bubble", paths, "deepseek-ai2024v3"),
          let("saved", max(entries - h - 3.0, 0.0) * c.t.pair_saving, "deepseek-ai2024v3")};
}

}  // namespace

template <class K>
PipelineTime<K> pipeline_time(Schedule s, int pp, int vpp, std::int64_t micro_batches, const StageTimes<K>& t) {
  const SecondsT<K> slowest = let("t_stage", t.slowest_forward + t.slowest_backward);
  const SecondsT<K> work = let("T_work", Scalar(static_cast<double>(micro_batches)) * slowest);
  if (pp == 1) return {choose("one stage: no bubble", work), SecondsT<K>{}, SecondsT<K>{}};
  const auto whole = [&] { return Case<K>(pp, 1, micro_batches, t); };
  const auto chunks = [&](int v) { return Case<K>(pp, v, micro_batches, t); };
  PipelineTime<K> r{};
  switch (s) {
    case Schedule::gpipe: r.bubble = gpipe(whole()); break;
    case Schedule::one_f_one_b: r.bubble = one_f_one_b(whole()); break;
    case Schedule::interleaved: r.bubble = vpp == 1 ? one_f_one_b(whole()) : interleaved(chunks(vpp)); break;
    case Schedule::looped_bfs: r.bubble = looped(chunks(vpp)); break;
    case Schedule::zb_h1: r.bubble = zb_h1(whole()); break;
    case Schedule::zb_h2: r.bubble = zb_h2(whole()); break;
    case Schedule::zb_interleaved: r.bubble = vpp == 1 ? zb_h1(whole()) : zb_interleaved(chunks(vpp)); break;
    case Schedule::zb_v: r.bubble = zb_v(chunks(2)); break;
    case Schedule::dualpipe: {
      const Case<K> c = whole();
      const Scalar both = 2.0 * ceil(c.m / 2.0);  // an odd one out takes a place in both directions
      r = two_way(c, c.p, both, 1.5 * c.p - 3.0);
      r.bubble = r.bubble + (both - c.m) * slowest;
      break;
    }
    case Schedule::dualpipe_v: {
      const Case<K> c = chunks(2);
      r = two_way(c, 2.0 * c.p, 2.0 * c.m, 2.0 * c.p - 4.0);
      break;
    }
  }
  r.makespan = let("T_pipeline", work - r.saved + r.bubble);
  return r;
}

template PipelineTime<Plain> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Plain>&);
template PipelineTime<Traced> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Traced>&);

}  // namespace napkin
