// Every textbook algorithm, message by message on a few ranks: it computes the right result in exactly the rounds, with
// exactly the bytes, that its formula says.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "model/collective/textbook.hpp"
#include "model/collective/torus.hpp"

using namespace napkin;
using namespace napkin::textbook;

namespace {

using Vector = std::vector<long long>;

// p ranks with a vector each. Messages of one round are delivered together; a rank sends and receives at most one a
// round unless `ports` says otherwise. What counts is the busiest rank of each round, as in the α–β–γ model.
class Machine {
 public:
  std::vector<Vector> at;
  int rounds = 0;
  long long sent = 0, reduced = 0;

  Machine(int p, std::size_t n, int ports = 1) : at(p, Vector(n)), ports_(ports) {}
  [[nodiscard]] int ranks() const { return static_cast<int>(at.size()); }
  [[nodiscard]] std::size_t size() const { return at[0].size(); }

  void send(int from, int to, std::size_t begin, std::size_t end, bool reduce) {
    if (begin < end)
      queue_.push_back({to, begin, Vector(at[from].begin() + begin, at[from].begin() + end), reduce, from, false});
  }
  // [begin, end) of `from` lands at `slot` of `to`.
  void send_to_slot(int from, int to, std::size_t begin, std::size_t end, std::size_t slot) {
    queue_.push_back({to, slot, Vector(at[from].begin() + begin, at[from].begin() + end), false, from, false});
  }
  // One part of `data`, which rank `from` holds.
  void send_copy(const Vector& data, int from, int to, std::size_t begin, std::size_t slot);
  // Several parts in one message; each lands where it was.
  void send_slots(const Vector& data, int from, int to, const std::vector<std::size_t>& slots);
  void finish_round() {
    std::map<int, long long> out, in, work;
    std::map<int, int> sends, receives;
    for (const auto& m : queue_) {
      if (!m.continues) {
        CHECK(++sends[m.from] <= ports_);
        CHECK(++receives[m.to] <= ports_);
      }
      out[m.from] += m.data.size();
      in[m.to] += m.data.size();
      if (m.reduce) work[m.to] += m.data.size();
      for (std::size_t i = 0; i < m.data.size(); ++i) {
        auto& x = at[m.to][m.begin + i];
        x = m.reduce ? x + m.data[i] : m.data[i];
      }
    }
    const auto most = [](const std::map<int, long long>& of) {
      long long v = 0;
      for (const auto& [rank, bytes] : of) v = std::max(v, bytes);
      return v;
    };
    sent += std::max(most(out), most(in));
    reduced += most(work);
    ++rounds;
    queue_.clear();
  }

 private:
  struct Message {
    int to;
    std::size_t begin;
    Vector data;
    bool reduce;
    int from;
    bool continues = false;  // the same message as the one before
  };
  std::vector<Message> queue_;
  int ports_;
};

constexpr std::size_t part_size = 12;

void Machine::send_copy(const Vector& data, int from, int to, std::size_t begin, std::size_t slot) {
  queue_.push_back({to, slot, Vector(data.begin() + begin, data.begin() + begin + part_size), false, from, false});
}
void Machine::send_slots(const Vector& data, int from, int to, const std::vector<std::size_t>& slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    send_copy(data, from, to, slots[i], slots[i]);
    queue_.back().continues = i > 0;
  }
}

// Rank r holds (r + 1)·(i + 1) everywhere.
Machine filled(int p, int ports = 1) {
  Machine m(p, part_size * p, ports);
  for (int r = 0; r < p; ++r)
    for (std::size_t i = 0; i < m.size(); ++i) m.at[r][i] = (r + 1) * static_cast<long long>(i + 1);
  return m;
}
long long total(int p, std::size_t i) {
  return p * (p + 1) / 2 * static_cast<long long>(i + 1);
}

void check_reduced_everywhere(const Machine& m) {
  for (int r = 0; r < m.ranks(); ++r)
    for (std::size_t i = 0; i < m.size(); ++i) REQUIRE(m.at[r][i] == total(m.ranks(), i));
}
void check_cost(const Machine& m, const Cost<Plain>& c) {
  CHECK(m.rounds == double(c.rounds));
  CHECK(m.sent == doctest::Approx(c.sent.si()).epsilon(1e-12));
  CHECK(m.reduced == doctest::Approx(c.reduced.si()).epsilon(1e-12));
}
Scalar ranks(const Machine& m) {
  return m.ranks();
}
Bytes bytes(const Machine& m) {
  return Bytes::si(static_cast<double>(m.size()));
}

// ---- the algorithms -------------------------------------------------------------------------------------------------
// Part b of p is [b·n/p, (b+1)·n/p).
void ring_pass(Machine& m, int offset, bool reduce) {
  const int p = m.ranks();
  for (int step = 0; step < p - 1; ++step) {
    for (int r = 0; r < p; ++r) {
      const std::size_t b = ((r - step + offset) % p + p) % p;
      m.send(r, (r + 1) % p, b * part_size, (b + 1) * part_size, reduce);
    }
    m.finish_round();
  }
}
void ring_reduce_scatter(Machine& m) {
  ring_pass(m, 0, true);
}  // rank r ends with part r + 1
void ring_all_gather(Machine& m) {
  ring_pass(m, 1, false);
}

// [lo, hi) splits in halves; the root of a half is its first rank.
void mst(Machine& m, bool down, const std::function<void(int from, int to, int lo, int mid, int hi)>& message) {
  std::vector<std::vector<std::array<int, 3>>> levels;
  std::vector<std::array<int, 2>> ranges{{0, m.ranks()}};
  while (std::any_of(ranges.begin(), ranges.end(), [](auto r) { return r[1] - r[0] > 1; })) {
    std::vector<std::array<int, 2>> next;
    levels.emplace_back();
    for (const auto [lo, hi] : ranges) {
      if (hi - lo == 1) continue;
      const int mid = lo + (hi - lo + 1) / 2;
      levels.back().push_back({lo, mid, hi});
      next.push_back({lo, mid});
      next.push_back({mid, hi});
    }
    ranges = next;
  }
  if (!down) std::reverse(levels.begin(), levels.end());
  for (const auto& level : levels) {
    for (const auto [lo, mid, hi] : level) message(down ? lo : mid, down ? mid : lo, lo, mid, hi);
    m.finish_round();
  }
}
void mst_broadcast_run(Machine& m) {
  mst(m, true, [&](int from, int to, int, int, int) { m.send(from, to, 0, m.size(), false); });
}
void mst_reduce_run(Machine& m) {
  mst(m, false, [&](int from, int to, int, int, int) { m.send(from, to, 0, m.size(), true); });
}
void mst_scatter_run(Machine& m) {
  mst(m, true,
      [&](int from, int to, int, int mid, int hi) { m.send(from, to, mid * part_size, hi * part_size, false); });
}
void mst_gather_run(Machine& m) {
  mst(m, false,
      [&](int from, int to, int, int mid, int hi) { m.send(from, to, mid * part_size, hi * part_size, false); });
}

int power_of_two_below(int p) {
  return 1 << static_cast<int>(std::floor(std::log2(p)));
}
// Surplus ranks give their vector to rank r − q before, and get the result after.
template <class Inner>
void folded(Machine& m, Inner inner) {
  const int p = m.ranks(), q = power_of_two_below(p);
  const auto exchange = [&](bool before) {
    if (p == q) return;
    for (int r = q; r < p; ++r) before ? m.send(r, r - q, 0, m.size(), true) : m.send(r - q, r, 0, m.size(), false);
    m.finish_round();
  };
  exchange(true);
  inner(q);
  exchange(false);
}
void recursive_doubling_run(Machine& m) {
  folded(m, [&](int q) {
    for (int d = 1; d < q; d *= 2) {
      for (int r = 0; r < q; ++r) m.send(r, r ^ d, 0, m.size(), true);
      m.finish_round();
    }
  });
}
void halving_doubling_run(Machine& m) {
  folded(m, [&](int q) {
    const std::size_t n = m.size();
    std::vector<std::size_t> lo(q, 0), hi(q, n);
    for (int d = q / 2; d >= 1; d /= 2) {  // halving: keep the half on my side
      for (int r = 0; r < q; ++r) {
        const std::size_t mid = (lo[r] + hi[r]) / 2;
        (r & d) != 0 ? m.send(r, r ^ d, lo[r], mid, true) : m.send(r, r ^ d, mid, hi[r], true);
      }
      m.finish_round();
      for (int r = 0; r < q; ++r) ((r & d) != 0 ? lo[r] : hi[r]) = (lo[r] + hi[r]) / 2;
    }
    for (int d = 1; d < q; d *= 2) {  // doubling: the partner's half completes mine
      for (int r = 0; r < q; ++r) m.send(r, r ^ d, lo[r], hi[r], false);
      m.finish_round();
      for (int r = 0; r < q; ++r) {
        const std::size_t width = hi[r] - lo[r];
        (r & d) != 0 ? lo[r] -= width : hi[r] += width;
      }
    }
  });
}

}  // namespace

TEST_SUITE("simulated collective") {
  TEST_CASE("ring: reduce-scatter, all-gather, and all-reduce as both") {
    for (int p = 2; p <= 16; ++p) {
      Machine m = filled(p);
      ring_reduce_scatter(m);
      for (int r = 0; r < p; ++r)
        for (std::size_t i = ((r + 1) % p) * part_size; i < ((r + 1) % p + 1) * part_size; ++i)
          REQUIRE(m.at[r][i] == total(p, i));
      check_cost(m, ring_reduce_scatter<Plain>(ranks(m), bytes(m)));
      ring_all_gather(m);
      check_reduced_everywhere(m);
      check_cost(m, ring_all_reduce<Plain>(ranks(m), bytes(m)));
    }
  }

  TEST_CASE("minimum spanning tree: broadcast, reduce, scatter, gather") {
    for (int p = 2; p <= 16; ++p) {
      Machine b = filled(p);
      mst_broadcast_run(b);
      for (const auto& v : b.at) REQUIRE(v == b.at[0]);
      check_cost(b, mst_broadcast<Plain>(ranks(b), bytes(b)));

      Machine r = filled(p);
      mst_reduce_run(r);
      for (std::size_t i = 0; i < r.size(); ++i) REQUIRE(r.at[0][i] == total(p, i));
      check_cost(r, mst_reduce<Plain>(ranks(r), bytes(r)));
      mst_broadcast_run(r);
      check_reduced_everywhere(r);
      check_cost(r, mst_all_reduce<Plain>(ranks(r), bytes(r)));

      Machine s = filled(p);
      const Vector root = s.at[0];
      mst_scatter_run(s);
      for (int k = 0; k < p; ++k)
        for (std::size_t i = k * part_size; i < (k + 1) * part_size; ++i) REQUIRE(s.at[k][i] == root[i]);
      check_cost(s, mst_scatter<Plain>(ranks(s), bytes(s)));

      Machine g = filled(p);
      mst_gather_run(g);
      for (int k = 0; k < p; ++k)
        for (std::size_t i = k * part_size; i < (k + 1) * part_size; ++i)
          REQUIRE(g.at[0][i] == (k + 1) * static_cast<long long>(i + 1));
      check_cost(g, mst_gather<Plain>(ranks(g), bytes(g)));
    }
  }

  TEST_CASE("scatter and all-gather make a long broadcast, reduce-scatter and gather a long reduce") {
    for (int p = 2; p <= 16; ++p) {
      Machine b = filled(p);
      const Vector root = b.at[0];
      mst_scatter_run(b);
      ring_pass(b, 0, false);  // rank r holds part r
      for (const auto& v : b.at) REQUIRE(v == root);
      check_cost(b, long_broadcast<Plain>(ranks(b), bytes(b)));

      Machine r = filled(p);
      ring_pass(r, -1, true);  // rank r ends with part r
      mst_gather_run(r);
      for (std::size_t i = 0; i < r.size(); ++i) REQUIRE(r.at[0][i] == total(p, i));
      check_cost(r, long_reduce<Plain>(ranks(r), bytes(r)));
    }
  }

  TEST_CASE("a chain in pieces") {
    for (int p = 2; p <= 16; ++p)
      for (int pieces : {1, 2, 4, 12}) {
        Machine m = filled(p);
        const std::size_t piece = m.size() / pieces;
        for (int round = 0; round < p - 2 + pieces; ++round) {
          for (int r = 0; r < p - 1; ++r) {
            const int k = round - r;  // rank r passes piece k on
            if (k >= 0 && k < pieces) m.send(r, r + 1, k * piece, (k + 1) * piece, false);
          }
          m.finish_round();
        }
        for (const auto& v : m.at) REQUIRE(v == m.at[0]);
        check_cost(m, pipelined_chain_broadcast<Plain>(ranks(m), bytes(m), pieces));
      }
  }

  TEST_CASE("recursive doubling and Rabenseifner, any number of ranks") {
    for (int p = 2; p <= 16; ++p) {
      Machine d = filled(p);
      recursive_doubling_run(d);
      check_reduced_everywhere(d);
      check_cost(d, recursive_doubling_all_reduce<Plain>(ranks(d), bytes(d)));
    }
    for (int p : {2, 3, 4, 6, 8, 12, 16}) {  // the vector must halve evenly
      Machine h = filled(p);
      if (h.size() % power_of_two_below(p) != 0) continue;
      halving_doubling_run(h);
      check_reduced_everywhere(h);
      check_cost(h, rabenseifner_all_reduce<Plain>(ranks(h), bytes(h)));
    }
  }

  TEST_CASE("all-gather by doubling distances (Bruck) takes lg p rounds for any p") {
    for (int p = 2; p <= 16; ++p) {
      Machine m = filled(p);  // slot j of rank r stands for part r + j: what a rank holds is then a prefix
      for (int r = 0; r < p; ++r) std::fill_n(m.at[r].begin(), part_size, r + 1);
      for (std::size_t have = 1; have < static_cast<std::size_t>(p); have *= 2) {
        const std::size_t more = std::min(have, p - have);
        for (int r = 0; r < p; ++r) {
          // Rank r + have sends its first `more` slots, which land behind mine.
          const int from = (r + static_cast<int>(have)) % p;
          m.send_to_slot(from, r, 0, more * part_size, have * part_size);
        }
        m.finish_round();
      }
      for (int r = 0; r < p; ++r)
        for (int j = 0; j < p; ++j) REQUIRE(m.at[r][j * part_size] == (r + j) % p + 1);
      check_cost(m, recursive_doubling_all_gather<Plain>(ranks(m), bytes(m)));
    }
  }

  TEST_CASE("one shot and two shots reach everybody at once") {
    for (int p = 2; p <= 16; ++p) {
      Machine one = filled(p, p - 1);
      for (int r = 0; r < p; ++r)
        for (int k = 0; k < p; ++k)
          if (k != r) one.send(r, k, 0, one.size(), true);
      one.finish_round();
      check_reduced_everywhere(one);
      check_cost(one, one_shot_all_reduce<Plain>(ranks(one), bytes(one)));

      Machine two = filled(p, p - 1);
      for (const bool reduce : {true, false}) {
        for (std::size_t r = 0; r < static_cast<std::size_t>(p); ++r)
          for (std::size_t k = 0; k < static_cast<std::size_t>(p); ++k) {
            const std::size_t b = reduce ? k : r;
            if (k != r) two.send(static_cast<int>(r), static_cast<int>(k), b * part_size, (b + 1) * part_size, reduce);
          }
        two.finish_round();
      }
      check_reduced_everywhere(two);
      check_cost(two, two_shot_all_reduce<Plain>(ranks(two), bytes(two)));
    }
  }

  TEST_CASE("all-to-all: pairwise exchange, and Bruck in lg p rounds") {
    for (int p = 2; p <= 16; ++p) {
      // Slot k of rank r: the part for rank k, marked 100·r + k.
      const auto marked = [&] {
        Machine m(p, part_size * p);
        for (int r = 0; r < p; ++r)
          for (int k = 0; k < p; ++k) std::fill_n(m.at[r].begin() + k * part_size, part_size, 100 * r + k);
        return m;
      };
      Machine pair = marked();
      const auto start = pair.at;
      for (int d = 1; d < p; ++d) {
        for (int r = 0; r < p; ++r) pair.send_copy(start[r], r, (r + d) % p, ((r + d) % p) * part_size, r * part_size);
        pair.finish_round();
      }
      for (int r = 0; r < p; ++r)
        for (int k = 0; k < p; ++k) REQUIRE(pair.at[r][k * part_size] == 100 * k + r);
      check_cost(pair, pairwise_all_to_all<Plain>(ranks(pair), bytes(pair)));
    }
    for (int p : {2, 4, 8, 16}) {
      // The part for rank r + j sits in slot j and travels the set bits of j.
      Machine m(p, part_size * p);
      for (int r = 0; r < p; ++r)
        for (int j = 0; j < p; ++j) std::fill_n(m.at[r].begin() + j * part_size, part_size, 100 * r + (r + j) % p);
      for (int d = 1; d < p; d *= 2) {
        const auto before = m.at;
        for (int r = 0; r < p; ++r) {
          std::vector<std::size_t> slots;
          for (int j = 0; j < p; ++j)
            if ((j & d) != 0) slots.push_back(j * part_size);
          m.send_slots(before[r], r, (r + d) % p, slots);
        }
        m.finish_round();
      }
      for (int r = 0; r < p; ++r)
        for (int j = 0; j < p; ++j) REQUIRE(m.at[r][j * part_size] == 100 * ((r - j + p) % p) + r);
      check_cost(m, bruck_all_to_all<Plain>(ranks(m), bytes(m)));
    }
  }

  TEST_CASE("hierarchical: reduce-scatter inside, all-reduce of the shards across, all-gather inside") {
    for (const auto& [m_ranks, nodes] : {std::pair{2, 2}, {2, 4}, {4, 2}, {4, 4}, {3, 5}, {8, 2}, {2, 8}}) {
      const int p = m_ranks * nodes;
      Machine m = filled(p);
      const std::size_t shard = m.size() / m_ranks, piece = shard / nodes;
      // A ring over `count` members: part b of [base, base + count·width); all rings of the machine in one round.
      const auto pass = [&](int count, auto member, int groups, auto base, std::size_t width, int offset, bool reduce) {
        for (int step = 0; step < count - 1; ++step) {
          for (int g = 0; g < groups; ++g)
            for (int r = 0; r < count; ++r) {
              const std::size_t b = base(g) + static_cast<std::size_t>(((r - step + offset) % count + count) % count) * width;
              m.send(member(g, r), member(g, (r + 1) % count), b, b + width, reduce);
            }
          m.finish_round();
        }
      };
      const auto inside = [&](int g, int r) { return g * m_ranks + r; };
      const auto across = [&](int g, int r) { return r * m_ranks + g; };
      const auto whole = [](int) { return std::size_t{0}; };
      // After the first pass, member r of a node holds shard r + 1.
      const auto held = [&](int g) { return static_cast<std::size_t>((g + 1) % m_ranks) * shard; };
      pass(m_ranks, inside, nodes, whole, shard, 0, true);
      pass(nodes, across, m_ranks, held, piece, 0, true);
      pass(nodes, across, m_ranks, held, piece, 1, false);
      pass(m_ranks, inside, nodes, whole, shard, 1, false);
      check_reduced_everywhere(m);
      const Scalar n = m_ranks, k = nodes;
      const auto c = ring_reduce_scatter<Plain>(n, bytes(m)) + ring_all_reduce<Plain>(k, bytes(m) / n) +
                     ring_all_gather<Plain>(n, bytes(m));
      check_cost(m, c);
      const Link<Plain> link{2 * us, 1 / (25 * GB / second), 1 / (200 * GB / second)};
      CHECK(hierarchical_all_reduce<Plain>(n * k, n, bytes(m), link, link).si() == doctest::Approx(c.time(link).si()));
    }
  }

  TEST_CASE("reduction in a switch: every rank sends its vector once and receives the sum once") {
    for (int p = 2; p <= 16; ++p) {
      Machine m(p + 1, part_size * p, p);  // the last one is the switch
      for (int r = 0; r < p; ++r)
        for (std::size_t i = 0; i < m.size(); ++i) m.at[r][i] = (r + 1) * static_cast<long long>(i + 1);
      for (int r = 0; r < p; ++r) m.send(r, p, 0, m.size(), true);
      m.finish_round();
      for (int r = 0; r < p; ++r) m.send(p, r, 0, m.size(), false);
      m.finish_round();
      for (int r = 0; r < p; ++r)
        for (std::size_t i = 0; i < m.size(); ++i) REQUIRE(m.at[r][i] == total(p, i));
      const auto c = in_network_all_reduce<Plain>(Scalar(p), bytes(m));
      CHECK(m.rounds == double(c.rounds));
      CHECK(c.sent == bytes(m));
    }
  }

  TEST_CASE("torus axis: shards go round a ring or along a line; parts of an all-to-all take the shortest way") {
    for (int length = 2; length <= 16; ++length)
      for (const bool wraps : {false, true})
        for (const bool both : {false, true}) {
          if (!wraps && !both) continue;  // on a line both directions are needed
          CAPTURE(length);
          CAPTURE(wraps);
          CAPTURE(both);
          // Gather: in a round each directed link passes on one shard that its end lacks.
          std::vector<std::vector<bool>> has(length, std::vector<bool>(length, false));
          for (int r = 0; r < length; ++r) has[r][r] = true;
          int rounds = 0;
          const auto complete = [&] {
            return std::all_of(has.begin(), has.end(), [](const auto& h) { return std::count(h.begin(), h.end(), true) == std::ssize(h); });
          };
          for (; !complete(); ++rounds) {
            auto next = has;
            for (int r = 0; r < length; ++r)
              for (const int step : {1, -1}) {
                if (step < 0 && !both) continue;
                const int to = wraps ? (r + step + length) % length : r + step;
                if (to < 0 || to >= length) continue;
                // The shard that came furthest this way: its owner lies `rounds` behind.
                const int owner = wraps ? ((r - step * rounds) % length + length) % length : r - step * rounds;
                if (owner >= 0 && owner < length && has[r][owner]) next[to][owner] = true;
              }
            has = next;
            REQUIRE(rounds < length);
          }
          Axes axes;
          axes.axis[axes.count++] = {length, wraps, both};
          const auto cost = [&](Operation o, double bytes_sent) {
            return torus_cost(Scope<Plain>(), o, Bytes::si(bytes_sent), axes, 1 * byte / second, 1 * second);
          };
          // A shard is one byte: hops and bytes over the busiest link are the rounds.
          const auto gather = cost(Operation::all_gather, length);
          CHECK(gather.latency.si() == rounds);
          CHECK(gather.bandwidth.si() == doctest::Approx(rounds));
          CHECK(cost(Operation::all_reduce, length).time.si() == doctest::Approx(4.0 * rounds));
          // All-to-all: load of the busiest directed link, a tie going half each way.
          std::map<std::pair<int, int>, double> load;
          const auto walk = [&](int from, int hops, int step, double part) {
            for (int i = 0, at = from; i < hops; ++i) {
              const int to = wraps ? (at + step + length) % length : at + step;
              load[{at, step}] += part;  // two chips on a closed axis have two links
              at = to;
            }
          };
          for (int r = 0; r < length; ++r)
            for (int d = 1; d < length; ++d) {
              const int to = (r + d) % length;
              if (!wraps) {
                walk(r, std::abs(to - r), to > r ? 1 : -1, 1);
              } else if (!both) {
                walk(r, d, 1, 1);
              } else if (2 * d == length) {
                walk(r, d, 1, 0.5);
                walk(r, d, -1, 0.5);
              } else {
                2 * d < length ? walk(r, d, 1, 1) : walk(r, length - d, -1, 1);
              }
            }
          double busiest = 0;
          for (const auto& [link, bytes_over] : load) busiest = std::max(busiest, bytes_over);
          const double said = cost(Operation::all_to_all, length).bandwidth.si();
          if (length % 2 == 0 || (wraps && !both)) CHECK(said == doctest::Approx(busiest));
          else CHECK(said >= busiest);  // an odd axis is counted as an even one: at most 1/L² more
          CHECK(said <= busiest * (1 + 2.0 / length / length) + 1e-9);
        }
  }

  TEST_CASE("double binary tree: 2 lg p hops, and no rank sends more than twice the vector") {
    for (int p = 2; p <= 16; p += 2) {  // an even number: the second tree is the first in a mirror
      const auto parent = [p](int r) {
        if (r == 0) return -1;
        const int bit = r & -r, up = (r ^ bit) | (bit << 1);
        return up < p ? up : r ^ bit;
      };
      const auto mirror = [p](int r) { return p - 1 - r; };
      std::vector<double> sent(p, 0);  // in units of the vector
      int deepest = 0;
      for (int tree = 0; tree < 2; ++tree)
        for (int r = 0; r < p; ++r) {
          const int me = tree == 0 ? r : mirror(r);  // my place in the tree
          int hops = 0;
          for (int at = me; at > 0; at = parent(at)) ++hops;
          deepest = std::max(deepest, hops);
          if (me == 0) continue;
          const int up = tree == 0 ? parent(me) : mirror(parent(me));
          sent[r] += 0.5;   // half of the vector up
          sent[up] += 0.5;  // and the result down to me
        }
      const auto c = double_tree_all_reduce<Plain>(p, Bytes::si(1));
      CHECK(2 * deepest == double(c.rounds));
      CHECK(*std::max_element(sent.begin(), sent.end()) <= c.sent.si());
      if (p >= 4) CHECK(*std::max_element(sent.begin(), sent.end()) == c.sent.si());
    }
  }
}
