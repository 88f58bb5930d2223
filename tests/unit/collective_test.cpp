#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hardware/hardware_input.hpp"
#include "hardware/tuning_input.hpp"
#include "model/collective/alpha_beta.hpp"
#include "model/collective/direct.hpp"
#include "model/collective/expert_exchange.hpp"
#include "model/collective/measures.hpp"
#include "model/collective/placement.hpp"
#include "model/collective/slice.hpp"
#include "model/collective/textbook.hpp"
#include "model/collective/torus.hpp"
#include "model/input_error.hpp"

using namespace napkin;

namespace {

constexpr Operation operations[] = {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                                    Operation::all_to_all, Operation::broadcast,  Operation::reduce,
                                    Operation::send_recv};
const char* const machines[] = {"a100-sxm-80gb", "h100-sxm", "b200-hgx", "gb200-nvl72", "tpu-v5p"};

template <class Q>
Constant<Q> given(Q v) {
  return {.value = v, .place = "test", .source = nullptr};
}
Tier ideal(const char* name, long long size, double bandwidth, double alpha) {
  Tier t;
  t.name = name;
  t.size = size;
  t.bandwidth = given(Bytes::si(bandwidth) / second);
  t.efficiency = given(Scalar(1));
  t.latency = given(Seconds::si(alpha));
  return t;
}
// Ranks with one kind of link: α, B.
Network flat(double alpha, double bandwidth) {
  Network n;
  n.tiers = {ideal("link", 0, bandwidth, alpha)};
  return n;
}
double time(const Network& n, Operation o, double bytes, Group g) {
  return collective_cost(Scope<Plain>(), n, o, Bytes::si(bytes), g).time.si();
}
double time(const Network& n, Operation o, double bytes, Group g, Algorithm a, Protocol p = Protocol::simple) {
  return collective_cost(Scope<Plain>(), n, o, Bytes::si(bytes), g, Method{a, p}).time.si();
}
double busbw(const Network& n, Operation o, double bytes, Group g) {
  return bus_factor(o, g.size) * bytes / time(n, o, bytes, g);
}

}  // namespace

TEST_SUITE("collective") {
  TEST_CASE("closed forms (chan2007collective, patarasuk2009, rabenseifner2004)") {
    // T of 100 MB over 64 ranks, α = 2 us, B = 25 GB/s.
    const Network n = flat(2e-6, 25e9);
    const Group g{64, 1};
    const double beta = 1 / 25e9, v = 1e8;
    CHECK(time(n, Operation::all_reduce, v, g, Algorithm::ring) == doctest::Approx(126 * 2e-6 + 126.0 / 64 * v * beta));
    CHECK(time(n, Operation::all_reduce, v, g, Algorithm::recursive_doubling) ==
          doctest::Approx(6 * (2e-6 + v * beta)));
    CHECK(time(n, Operation::all_reduce, v, g, Algorithm::rabenseifner) ==
          doctest::Approx(12 * 2e-6 + 126.0 / 64 * v * beta));
    CHECK(time(n, Operation::all_reduce, v, g, Algorithm::tree) == doctest::Approx(12 * 2e-6 + 2 * v * beta));
    CHECK(time(n, Operation::all_reduce, v, g, Algorithm::mst) == doctest::Approx(12 * (2e-6 + v * beta)));
    CHECK(time(n, Operation::broadcast, v, g, Algorithm::mst) == doctest::Approx(6 * (2e-6 + v * beta)));
    CHECK(time(n, Operation::broadcast, v, g, Algorithm::ring) == doctest::Approx(69 * 2e-6 + 126.0 / 64 * v * beta));
    CHECK(time(n, Operation::all_gather, v, g, Algorithm::ring) == doctest::Approx(63 * 2e-6 + 63.0 / 64 * v * beta));
  }

  TEST_CASE("no algorithm beats the lower bounds") {
    using namespace textbook;
    const Link<Plain> link{2 * us, 1 / (25 * GB / second), 1 / (200 * GB / second)};
    for (double p = 2; p <= 40; ++p)
      for (double v : {1.0, 1e4, 1e8}) {
        const auto n = Bytes::si(v);
        const double slack = 1 + 1e-12;
        for (const auto& c :
             {ring_all_reduce<Plain>(p, n), mst_all_reduce<Plain>(p, n), rabenseifner_all_reduce<Plain>(p, n),
              recursive_doubling_all_reduce<Plain>(p, n), double_tree_all_reduce<Plain>(p, n)}) {
          const auto b = all_reduce_bound<Plain>(p, n);
          // ⌊lg p⌋ exchanges and a fold reach ⌈lg p⌉.
          CHECK(c.rounds.si() * slack >= b.rounds.si());
          CHECK(c.reduced.si() * slack >= b.reduced.si());
        }
        for (const auto& c :
             {ring_all_reduce<Plain>(p, n), rabenseifner_all_reduce<Plain>(p, n), mst_all_reduce<Plain>(p, n)})
          CHECK(c.sent.si() * slack >= all_reduce_bound<Plain>(p, n).sent.si());
        for (const auto& c : {ring_all_gather<Plain>(p, n), recursive_doubling_all_gather<Plain>(p, n),
                              mst_gather<Plain>(p, n), mst_scatter<Plain>(p, n)})
          CHECK(c.time(link).si() * slack >= gather_bound<Plain>(p, n).time(link).si());
      }
    for (const char* machine : machines) {
      const Network n = read_hardware(machine).network;
      for (const Operation o : operations)
        for (const Group g : {Group{2, 1}, Group{8, 1}, Group{64, 1}, Group{32, 8}})
          for (double v : {8.0, 1e6, 1e10})
            for (const auto& c : candidates(n, o, Bytes::si(v), g)) {
              CAPTURE(machine);
              CAPTURE(std::string(c.cost.algorithm));
              CHECK(c.cost.time >= lower_bound(n, o, Bytes::si(v), g));
            }
    }
  }

  TEST_CASE("one rank is free; time never falls as bytes grow; parts add up") {
    for (const char* machine : machines) {
      const Network n = read_hardware(machine).network;
      for (const Operation o : operations) {
        CHECK(time(n, o, 1e9, {1, 1}) == 0);
        for (const Group g :
             {Group{2, 1}, Group{4, 1}, Group{8, 1}, Group{16, 1}, Group{16, 8}, Group{256, 1}, Group{64, 4}}) {
          double last = 0;
          for (double v = 1; v < 1e11; v *= 1.17) {
            const auto c = collective_cost(Scope<Plain>(), n, o, Bytes::si(v), g);
            CAPTURE(machine);
            CAPTURE(v);
            REQUIRE(c.time.si() >= last);
            REQUIRE(c.time.si() == c.latency.si() + c.bandwidth.si());
            REQUIRE(c.latency.si() > 0);
            REQUIRE(c.bandwidth.si() >= 0);
            last = c.time.si();
          }
        }
      }
    }
  }

  TEST_CASE("plain and traced are bit-identical, by the choice and by every method") {
    for (const char* machine : machines) {
      const Network n = read_hardware(machine).network;
      for (const Operation o : operations)
        for (const Group g : {Group{2, 1}, Group{8, 1}, Group{64, 1}, Group{16, 8}, Group{1024, 1}})
          for (double v : {0.0, 1.0, 3e4, 1.7e6, 1e9}) {
            Derivation d;
            const Scope<Traced> scope(d);
            const auto plain_cost = collective_cost(Scope<Plain>(), n, o, Bytes::si(v), g);
            const auto traced = collective_cost(scope, n, o, scope.input("n", Bytes::si(v)), g);
            REQUIRE(plain_cost.time.si() == traced.time.si());
            REQUIRE(traced.time.why() != nullptr);
            REQUIRE(traced.time.why()->op == Op::choice);
            for (const auto& c : candidates(n, o, Bytes::si(v), g))
              REQUIRE(c.cost.time.si() ==
                      collective_cost(scope, n, o, scope.input("n", Bytes::si(v)), g, c.method).time.si());
          }
    }
  }

  TEST_CASE("ring all-reduce = reduce-scatter + all-gather; its bandwidth tends to 2(n−1)/n · V/B") {
    const Network n = flat(5e-6, 50e9);
    for (int p : {2, 3, 8, 1024})
      for (double v : {1e3, 1e9}) {
        const double both = time(n, Operation::reduce_scatter, v, {p, 1}, Algorithm::ring) +
                            time(n, Operation::all_gather, v, {p, 1}, Algorithm::ring);
        CHECK(time(n, Operation::all_reduce, v, {p, 1}, Algorithm::ring) == doctest::Approx(both));
        CHECK(time(n, Operation::all_reduce, 1e15, {p, 1}, Algorithm::ring) ==
              doctest::Approx(2.0 * (p - 1) / p * 1e15 / 50e9).epsilon(1e-4));
      }
    // The library's ring reaches the tier's large-message bandwidth, but for the copy of the rank's own part.
    const Network h = read_hardware("h100-sxm").network;
    const double link = (h.tiers[0].bandwidth.value * h.tiers[0].efficiency.value).si();
    CHECK(time(h, Operation::all_reduce, 1e15, {8, 1}, Algorithm::ring) ==
          doctest::Approx((2 * 7 + h.tuning->reduce_copy.value.si()) / 8 * 1e15 / link).epsilon(1e-3));
  }

  TEST_CASE("hierarchical = flat bandwidth when the tiers are equal") {
    using namespace textbook;
    const Link<Plain> link{Seconds(), 1 / (50 * GB / second), 0 / (50 * GB / second)};
    for (double nodes : {2.0, 4.0, 16.0})
      for (double m : {2.0, 8.0}) {
        const Bytes v = 1 * GB;
        CHECK(hierarchical_all_reduce<Plain>(nodes * m, m, v, link, link).si() ==
              doctest::Approx(ring_all_reduce<Plain>(nodes * m, v).time(link).si()));
      }
    // And so on a placed group, latency aside, for every operation that has both.
    Network two = flat(0, 50e9);
    two.tiers.insert(two.tiers.begin(), ideal("node", 8, 50e9, 0));
    for (const Operation o : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter})
      for (int ranks : {16, 64, 512})
        CHECK(time(two, o, 1e9, {ranks, 1}, Algorithm::hierarchical) ==
              doctest::Approx(time(two, o, 1e9, {ranks, 1}, Algorithm::ring)));
  }

  TEST_CASE("the trap: a group that fills its nodes has all NICs, one with a member per node has one") {
    const Network n = read_hardware("h100-sxm").network;
    const auto egress = [&](Group g) {
      return links(Scope<Plain>(), n, place(n, g)).egress.si() / n.tiers[1].efficiency.value.si();
    };
    CHECK(egress({64, 1}) == doctest::Approx(400e9));
    CHECK(egress({64, 2}) == doctest::Approx(200e9));
    CHECK(egress({64, 8}) == doctest::Approx(50e9));
    CHECK(busbw(n, Operation::all_gather, 1e10, {64, 1}) > 7 * busbw(n, Operation::all_gather, 1e10, {64, 8}));
    CHECK(place(n, {64, 1}).nodes == 8);
    CHECK(place(n, {64, 8}).nodes == 64);
    CHECK(place(n, {4, 2}).one_node());
    CHECK(place(n, {5, 2}).tiers == 2);
    CHECK(place(n, {12, 1}).nodes == 2);
    CHECK(place(n, {1024, 1}).tiers == 3);
  }

  TEST_CASE("oversubscription costs an all-to-all, not a ring that crosses once") {
    Network n = read_hardware("h100-sxm").network;
    const double ring = time(n, Operation::all_gather, 1e10, {1024, 1}),
                 all = time(n, Operation::all_to_all, 1e9, {1024, 1});
    n.tiers[2].oversubscription = given(Scalar(7));
    CHECK(time(n, Operation::all_gather, 1e10, {1024, 1}) == doctest::Approx(ring));
    CHECK(time(n, Operation::all_to_all, 1e9, {1024, 1}) > 3 * all);
  }

  TEST_CASE("the library: where its choices turn") {
    const Network h = read_hardware("h100-sxm").network, a = read_hardware("a100-sxm-80gb").network;
    const auto chosen = [](const Network& n, double v, Group g) {
      return std::string(collective_cost(Scope<Plain>(), n, Operation::all_reduce, Bytes::si(v), g).algorithm);
    };
    CHECK(chosen(h, 1024, {8, 1}) == "ring");
    CHECK(chosen(h, 1e9, {8, 1}) == "nvls");
    CHECK(chosen(h, 1e9, {4, 1}) == "ring");  // too few heads for the switch to pay
    CHECK(chosen(h, 1e9, {16, 1}) == "nvls-tree");
    CHECK(chosen(a, 1e9, {8, 1}) == "ring");  // no reduction in the switch
    CHECK(chosen(h, 1024, {256, 1}) == "tree");
    const auto turns = crossovers(h, Operation::all_reduce, {8, 1}, 1 * kB, 1 * GB);
    REQUIRE(turns.size() >= 1);
    CHECK(turns.back().above == Method{Algorithm::nvls, Protocol::simple});
    CHECK(turns.back().bytes > 0.5 * MiB);
    CHECK(turns.back().bytes < 3 * MiB);
    // A bad choice shows.
    CHECK(time(h, Operation::all_reduce, 1e9, {8, 1}, Algorithm::ring, Protocol::ll) >
          3 * time(h, Operation::all_reduce, 1e9, {8, 1}));
    CHECK_THROWS_AS(time(h, Operation::all_gather, 1e9, {8, 1}, Algorithm::tree), InputError);
    CHECK_THROWS_AS(time(a, Operation::all_reduce, 1e9, {8, 1}, Algorithm::nvls), InputError);
  }

  TEST_CASE("a torus, axis by axis (austin2025scaling)") {
    const Tier v5p = read_hardware("tpu-v5p").network.tiers[0];  // 16 x 20 x 28
    const Axes all = axes_of(v5p, {16, 1});
    REQUIRE(all.count == 1);
    CHECK(all.axis[0].wraps);
    CHECK(axes_of(v5p, {8, 1}).axis[0].wraps == false);
    const Axes plane = axes_of(v5p, {16 * 20, 1});
    REQUIRE(plane.count == 2);
    CHECK(plane.axis[1].length == 20);
    const Axes middle = axes_of(v5p, {20, 16});
    REQUIRE(middle.count == 1);
    CHECK(middle.axis[0].wraps);
    CHECK(axes_of(v5p, {7 * 16, 1}).count == 2);
    // Gathering over two closed axes takes half the time of one; a line takes twice the ring, less the last hop.
    const auto t = [](Axes axes) {
      return torus_cost(Scope<Plain>(), Operation::all_gather, 1 * GB, axes, 45 * GB / second, Seconds()).time.si();
    };
    Axes one, two, line;
    one.axis[one.count++] = two.axis[two.count++] = {4, true, true};
    two.axis[two.count++] = {4, true, true};
    line.axis[line.count++] = {4, false, true};
    CHECK(t(two) == doctest::Approx(t(one) / 2));
    CHECK(t(one) == doctest::Approx(1e9 / 90e9));
    CHECK(t(line) == doctest::Approx(0.75e9 / 45e9));
  }

  TEST_CASE("a job gets a box of the torus; whole blocks close") {
    const Network n = read_hardware("tpu-v5p").network;  // 16 x 20 x 28 in blocks of 4
    const Tier cube = slice_for(n, 512).tiers[0];
    CHECK(cube.dims == std::vector<int>{8, 8, 8});
    CHECK(cube.wraps == std::vector<bool>{true, true, true});
    const Tier small = slice_for(n, 8).tiers[0];
    CHECK(small.dims == std::vector<int>{2, 2, 2});
    CHECK(small.wraps == std::vector<bool>{false, false, false});
    CHECK(slice_for(n, 1024).tiers[0].size == 1024);
    CHECK(slice_for(n, 11).tiers[0].dims == std::vector<int>{1, 1, 11});
    CHECK(slice_for(n, 1'000'000).tiers[0].dims == n.tiers[0].dims);
    const Tier row = slice_for(read_hardware("tpu-v5e").network, 128).tiers[0];  // 16 x 16, one piece
    CHECK(row.wraps == std::vector<bool>{false, true});
    CHECK(row.dims == std::vector<int>{8, 16});
    CHECK(slice_for(read_hardware("h100").network, 8).tiers[0].size == 8);
  }

  TEST_CASE("slices over the data-centre network") {
    Network n = read_hardware("tpu-v5p").network;
    n.tiers[0].dims = {8, 8, 8};
    n.tiers[0].wraps = {true, true, true};
    n.tiers[0].size = 512;
    const double one = time(n, Operation::all_reduce, 1e10, {512, 1}),
                 two = time(n, Operation::all_reduce, 1e10, {1024, 1});
    // Each chip exchanges its 1/512 with its twin: 2 · 1/2 · V/512 over 6.25 GB/s.
    const double dcn = (n.tiers[1].bandwidth.value * n.tiers[1].efficiency.value).si();
    CHECK(two - one == doctest::Approx(1e10 / 512 / dcn + 2 * n.tiers[1].latency.value.si()));
  }

  TEST_CASE("experts: a token crosses to a node once") {
    CHECK(distinct_places(8, 8) == doctest::Approx(5.25113).epsilon(1e-5));
    const Network n = read_hardware("h100-sxm").network;
    const Scope<Plain> s;
    Routing r{.tokens = 4096, .top_k = 8};
    const auto free = expert_exchange_cost(s, n, {64, 1}, r, Bytes::si(7168));
    r.node_limit = 4;
    const auto limited = expert_exchange_cost(s, n, {64, 1}, r, Bytes::si(7168));
    CHECK(limited.across < free.across);
    CHECK(limited.bytes_across.si() == doctest::Approx(4096 * 7168.0 * 4 * 7 / 8));
    CHECK(expert_exchange_cost(s, n, {8, 1}, r, Bytes::si(7168)).bytes_across == Bytes());
    CHECK(expert_exchange_cost(s, n, {1, 1}, r, Bytes::si(7168)).time == Seconds());
    r.imbalance = 1.3;
    CHECK(expert_exchange_cost(s, n, {64, 1}, r, Bytes::si(7168)).across.si() ==
          doctest::Approx(1.3 * limited.across.si()));
  }

  TEST_CASE("experts in groups: a token's nodes are bounded as the groups lie on them; capacity drops the overflow") {
    const Network n = read_hardware("h100-sxm").network;
    const auto remote = [&](int ranks, int groups, int limit) {
      const Routing r{.tokens = 4096, .top_k = 8, .groups = groups, .group_limit = limit};
      return expert_exchange_cost(Scope<Plain>(), n, {ranks, 1}, r, Bytes::si(7168)).remote_nodes;
    };
    CHECK(remote(64, 8, 4) == doctest::Approx(4 * 7.0 / 8));    // a group a node
    CHECK(remote(128, 8, 2) == doctest::Approx(4 * 15.0 / 16));  // a group on two nodes
    CHECK(remote(32, 8, 4) == doctest::Approx(distinct_places(4, 8) * 3 / 4));  // more groups allowed than nodes
    // On a torus it is an all-to-all of the copies.
    const Network torus = read_hardware("tpu-v5p").network;
    const double copies = distinct_places(16, 8) * 4096 * 7168;
    CHECK(expert_exchange_cost(Scope<Plain>(), torus, {16, 1}, {.tokens = 4096, .top_k = 8}, Bytes::si(7168)).time.si() ==
          doctest::Approx(time(torus, Operation::all_to_all, copies, {16, 1})));
    // A library's start-up counts per peer: 7 in the node and 7 twins, not 63.
    const auto t = [&](double top_k) {
      return expert_exchange_cost(Scope<Plain>(), n, {64, 1}, {.tokens = 1e-9, .top_k = top_k}, Bytes::si(1)).time.si();
    };
    CHECK(t(8) < time(n, Operation::all_to_all, 64, {64, 1}));
    CHECK(dropped_share(1.3, 1) == doctest::Approx(0.075));
    CHECK(dropped_share(1.3, 1.3) == 0);
    CHECK(dropped_share(1, 1) == 0);
    CHECK(dropped_share(1.3, 0.5) == doctest::Approx(0.5));
  }

  TEST_CASE("unequal sizes: alike they are an all-to-all, few are grouped messages, none is free") {
    for (const char* machine : {"h100-sxm", "gb200-nvl72", "b200-hgx"}) {
      const Network n = read_hardware(machine).network;
      for (const Group g : {Group{2, 1}, Group{8, 1}, Group{16, 8}, Group{64, 1}})
        for (double part : {1.0, 1e4, 1e8}) {
          CAPTURE(machine);
          CAPTURE(g.size);
          const std::vector<double> alike(static_cast<std::size_t>(g.size), part);
          CHECK(ragged_cost(Scope<Plain>(), n, g, alike).cost.time.si() ==
                doctest::Approx(time(n, Operation::all_to_all, part * g.size, g)));
        }
      const auto sizes = [&](std::vector<double> v) {
        return ragged_cost(Scope<Plain>(), n, {static_cast<int>(v.size()), 1}, v).cost.time.si();
      };
      CHECK(sizes({0, 0, 0, 0}) == 0);
      CHECK(sizes({0, 1e8, 0, 0}) < sizes({0, 1e8, 1e8, 0}));
      CHECK(sizes({0, 2e8, 1e8, 0}) == doctest::Approx(sizes({0, 1e8, 2e8, 0})));
      CHECK_THROWS_AS((void)ragged_cost(Scope<Plain>(), n, {3, 1}, std::vector<double>{1, 2}), InputError);
    }
    // Bytes beyond the node leave through the rank's own NIC; those inside do not slow them.
    const Network h = read_hardware("h100-sxm").network;
    std::vector<double> v(16, 0);
    v[8] = 1e9;
    const double out = ragged_cost(Scope<Plain>(), h, {16, 1}, v).cost.bandwidth.si();
    CHECK(out == doctest::Approx(1e9 / (h.tiers[1].bandwidth.value * h.tiers[1].efficiency.value).si()));
    v[1] = 1e9;
    CHECK(ragged_cost(Scope<Plain>(), h, {16, 1}, v).cost.bandwidth.si() == doctest::Approx(out));
    CHECK_THROWS_AS((void)ragged_cost(Scope<Plain>(), read_hardware("tpu-v5p").network, {2, 1}, std::vector<double>{1, 2}),
                    InputError);
  }

  TEST_CASE("a wish for an algorithm or a protocol alone takes the best of the rest; a share of bandwidth slows it") {
    const Network h = read_hardware("h100-sxm").network;
    const auto wished = [&](Wish w, double v) {
      return wished_cost(h, Operation::all_reduce, Bytes::si(v), {16, 1}, w);
    };
    CHECK(wished({.algorithm = Algorithm::ring, .protocol = {}}, 8).method.protocol == Protocol::ll);
    CHECK(wished({.algorithm = Algorithm::ring, .protocol = {}}, 1e10).method.protocol == Protocol::simple);
    CHECK(wished({.algorithm = {}, .protocol = Protocol::ll}, 8).method.protocol == Protocol::ll);
    CHECK(wished({}, 1e9).cost.time == collective_cost(Scope<Plain>(), h, Operation::all_reduce, 1 * GB, {16, 1}).time);
    const auto whole = wished({.algorithm = Algorithm::tree, .protocol = Protocol::simple}, 1e9).cost;
    const auto most = wished({.algorithm = Algorithm::tree, .protocol = Protocol::simple, .share = 0.9}, 1e9).cost;
    CHECK(most.time.si() == doctest::Approx(whole.latency.si() + whole.bandwidth.si() / 0.9));
    CHECK_THROWS_AS((void)wished({.algorithm = Algorithm::torus, .protocol = {}}, 1e9), InputError);
    CHECK_THROWS_AS((void)wished({.algorithm = Algorithm::nvls_tree, .protocol = Protocol::ll}, 1e9), InputError);
  }

  TEST_CASE("ranks that do not fill their domains: the narrowest bounds what crosses, and nothing beats the bound") {
    const Network h = read_hardware("h100-sxm").network, g = read_hardware("gb200-nvl72").network;
    const auto egress = [](const Network& n, Group group) {
      return links(Scope<Plain>(), n, place(n, group)).egress.si() / n.tiers[1].efficiency.value.si();
    };
    CHECK(egress(h, {12, 1}) == doctest::Approx(4 * 50e9));
    CHECK(place(g, {1024, 1}).nodes == 15);
    CHECK(place(g, {1024, 1}).narrowest(0) == 16);
    CHECK(egress(g, {1024, 1}) == doctest::Approx(16 * 50e9));
    for (const Operation o : operations)
      for (double v : {8.0, 1e6, 1e10})
        for (const auto& [n, group] : {std::pair{h, Group{12, 1}}, std::pair{g, Group{1024, 1}}, std::pair{g, Group{100, 1}}})
          CHECK(collective_cost(Scope<Plain>(), n, o, Bytes::si(v), group).time >= lower_bound(n, o, Bytes::si(v), group));
  }

  TEST_CASE("bandwidth conventions of nccl-tests") {
    CHECK(bus_factor(Operation::all_reduce, 8) == 1.75);
    CHECK(bus_factor(Operation::all_gather, 8) == 0.875);
    CHECK(bus_factor(Operation::broadcast, 8) == 1);
    CHECK(bytes_sent(Operation::all_reduce, 1 * GB, 8) == 1.75 * GB);
    CHECK(bytes_sent_by_many(Operation::all_reduce, 1 * GB) == 2 * GB);
  }

  TEST_CASE("a group that does not exist, or does not fit, is refused") {
    Network n = read_hardware("h100-sxm").network;
    CHECK_THROWS_AS((void)time(n, Operation::all_reduce, 1, {0, 1}), InputError);
    CHECK_THROWS_AS((void)time(n, Operation::all_reduce, 1, {8, 0}), InputError);
    n.tiers.resize(1);
    CHECK_THROWS_AS((void)time(n, Operation::all_reduce, 1, {16, 1}), InputError);
  }

  TEST_CASE("tunings: every generation reads, unknown members are refused") {
    CHECK(find_tuning("hopper") != nullptr);
    CHECK(find_tuning("tpu-v5p") == nullptr);
    CHECK_THROWS_AS((void)read_tunings(Document::parse(R"({"schema": 1, "generation": {}})", "x.json")), InputError);
    CHECK_THROWS_AS((void)read_tunings(Document::parse(R"({"schema": 2, "generations": {}})", "x.json")), InputError);
  }
}
